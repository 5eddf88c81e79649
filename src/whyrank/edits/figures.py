"""The figures of edits: how holders move, documents that change places, turned pieces, curves over scales."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from whyrank.edits.edit import DIRECTIONS, DISTANCES
from whyrank.edits.experiment import EDIT, TwoTokenExperiment
from whyrank.edits.holder_moves import HolderMoves
from whyrank.edits.results import AlignmentFit, QueryMoves, Turn
from whyrank.edits.suppression import Suppression
from whyrank.edits.units import Units
from whyrank.evaluation.estimate import Estimate
from whyrank.plots.style import BAD, GOOD, INK, NEUTRAL, QUIET, SERIES, as_svg, bare, drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Queries in the figure of moves, and pieces in that of turns.
MOST_QUERIES, MOST_PIECES = 4, 24
#: Characters of a query in a title.
TITLE = 30


class Curve(NamedTuple):
    """A curve over scales: its name, the scales, and an estimate at each."""

    name: str
    scales: Sequence[float]
    estimates: Sequence[Estimate]
    colour: str = SERIES[0]
    style: str = "-"
    band: bool = True


class Panel(NamedTuple):
    """Curves in one frame."""

    title: str
    curves: Sequence[Curve]


def plot_holders(axes: Axes, holders: Sequence[HolderMoves]) -> Axes:
    """For each term a row: a dot per query, by how much the holders moved against the other documents, and the
    mean with its interval."""
    bare(axes)
    for place, one in enumerate(holders):
        for change in one.by_query:
            as_meant = (change.change > 0) == (one.direction == "up")
            axes.plot(change.change, place, "o", color=GOOD if as_meant else BAD, markersize=4, alpha=0.5)
        if one.change.interval:
            ends = [one.change.interval.low, one.change.interval.high]
            axes.plot(ends, [place - 0.25] * 2, color=INK, linewidth=1.2)
        if one.change.value is not None:
            axes.plot(one.change.value, place - 0.25, "D", color=INK, markersize=4)
    axes.axvline(0, color=QUIET, linewidth=0.6)
    axes.set_yticks(range(len(holders)), [f"{one.direction} {one.what}" for one in holders])
    axes.set_ylim(len(holders) - 0.5, -0.6)
    axes.set_xlabel("holders' change of score less that of the others, per query")
    return axes


def plot_alignment(axes: Axes, fit: AlignmentFit) -> Axes:
    """r of U_0 with the IDF, three times."""
    bars = {"before": fit.r_before, "after": fit.r_after, "by a new SVD": fit.r_by_new_svd}
    bare(axes).barh(range(len(bars)), [value or 0.0 for value in bars.values()], color=SERIES[0], height=0.6)
    axes.set_yticks(range(len(bars)), list(bars))
    axes.invert_yaxis()
    axes.axvline(0, color=QUIET, linewidth=0.6)
    axes.set_xlabel("r of U0 with the IDF")
    return axes


def moves(changes: Sequence[QueryMoves]) -> str:
    """For the queries that change most: each moved document's rank before and after."""
    some = changes[:MOST_QUERIES]
    deepest = max(max(one.before, one.after) for change in some for one in change.documents)
    with drawing(0.8 + 2.1 * len(some), 3.4) as figure:
        places = figure.subplots(1, len(some), squeeze=False, sharey=True)[0]
        for axes, change in zip(places, some, strict=True):
            _bump(bare(axes), change)
        places[0].set_ylim(deepest + 0.7, 0.3)
        return as_svg(figure)


def _bump(axes: Axes, change: QueryMoves) -> None:
    for one in change.documents:
        colour = GOOD if one.after < one.before else BAD
        axes.plot([0, 1], [one.before, one.after], color=colour, marker="o", markersize=3, linewidth=1.2)
        for x, rank, side in ((0, one.before, "right"), (1, one.after, "left")):
            axes.annotate(
                str(rank), (x, rank), xytext=(-5 if x == 0 else 5, 0), textcoords="offset points", ha=side,
                va="center", fontsize=7, color=INK,
            )  # fmt: skip
    query = change.query
    axes.set_title(query if len(query) <= TITLE else f"{query[: TITLE - 1]}…", loc="left", fontsize=8)
    axes.set_xlim(-0.35, 1.35)
    axes.set_xticks([0, 1], ["before", "after"])
    axes.set_yticks([])
    for side in ("left", "bottom"):
        axes.spines[side].set_visible(False)
    axes.tick_params(length=0)


def plot_turns(axes: Axes, turns: Sequence[Turn], units: Units) -> Axes:
    """U_0 of each piece, before (grey) and after; to the left is rarer; the band is the natural range."""
    some = turns[:MOST_PIECES]
    bare(axes).axvspan(units.low, units.high, color=NEUTRAL, alpha=0.25, linewidth=0, zorder=0)
    for place, turn in enumerate(some):
        axes.plot([turn.before, turn.after], [place, place], color=NEUTRAL, linewidth=2, zorder=1)
        axes.plot(turn.before, place, "o", color=QUIET, markersize=5, label="before" if place == 0 else None)
        axes.plot(turn.after, place, "o", color=SERIES[0], markersize=5, label="after" if place == 0 else None)
    axes.axvline(0, color=QUIET, linewidth=0.6)
    axes.set_yticks(range(len(some)), [turn.piece for turn in some])
    axes.set_ylim(len(some) - 0.5, -0.5)
    axes.set_xlabel("U0: rarer to the left, more common to the right")
    return axes


def turned_pieces(turns: Sequence[Turn], units: Units) -> str:
    """The same as a figure of its own."""
    with drawing(7.2, 1.0 + 0.26 * len(turns[:MOST_PIECES])) as figure:
        plot_turns(figure.subplots(), turns, units)
        figure.legend(loc="outside upper right", ncols=2)
        return as_svg(figure)


@dataclass(frozen=True)
class ScaleAxis:
    """The axis of scales: its title, and at which scale a word leaves the natural range that was in its middle, by
    direction."""

    title: str = "scale"
    ends: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, rule: str, units: Units) -> ScaleAxis:
        """The axis of a rule."""
        if rule not in DISTANCES:
            return cls("scale (factor of |U0|)")
        up, down = (reach * (1.0 if rule == "sd" else units.sd / units.idf) for reach in units.reach)
        title = "scale (standard deviations of U0)" if rule == "sd" else "scale (units of IDF)"
        return cls(title, {"up": up, "down": down})

    def draw(self, axes: Axes, scales: Sequence[float], direction: str | None = None) -> None:
        """Scales as logarithms, each named, and the end of the natural range."""
        if min(scales) > 0:
            axes.set_xscale("log")
        axes.set_xticks(list(scales), [f"{scale:g}" for scale in scales])
        axes.minorticks_off()
        axes.set_xlabel(self.title)
        end = self.ends.get(direction or "")
        if end is not None and min(scales) <= end <= max(scales):
            axes.axvline(end, color=QUIET, linewidth=1, linestyle=":")
            axes.annotate(
                "end of the natural range", (end, 1.0), xycoords=("data", "axes fraction"), xytext=(-3, -2),
                textcoords="offset points", rotation=90, ha="right", va="top", fontsize=6, color=QUIET,
            )  # fmt: skip


def scale_curves(panels: Mapping[str, Panel], y_title: str, axis: ScaleAxis) -> str:
    """Panels side by side on one scale, by direction: curves over scales (logarithms), with their intervals as
    bands."""
    with drawing(0.7 + 3.5 * len(panels), 3.3) as figure:
        places = figure.subplots(1, len(panels), squeeze=False, sharey=True)[0]
        for axes, (direction, panel) in zip(places, panels.items(), strict=True):
            _panel(axes, panel, axis, direction)
        places[0].set_ylabel(y_title)
        handles = {h.get_label(): h for h in places[0].get_legend_handles_labels()[0]}
        if len(handles) > 1:
            figure.legend(
                list(handles.values()), list(handles), loc="outside lower center", ncols=min(6, len(handles))
            )
        return as_svg(figure)


def _panel(axes: Axes, panel: Panel, axis: ScaleAxis, direction: str | None = None) -> None:
    for curve in panel.curves:
        draw_curve(bare(axes), curve)
    axes.axhline(0, color=QUIET, linewidth=0.6)
    axis.draw(axes, max((curve.scales for curve in panel.curves), key=len), direction)
    axes.set_title(panel.title, loc="left")


def plot_experiment(axes: Axes, result: TwoTokenExperiment) -> Axes:
    """doc1, the edited word's, up and down, and doc2 (dashed)."""
    curves = [
        Curve(f"{name}, {direction}", result.scales, [getattr(one, name) for one in points], colour, style)
        for direction, colour in zip(DIRECTIONS, SERIES, strict=False)
        for points in [result.curve(EDIT, direction)]
        for name, style in (("doc1", "-"), ("doc2", "--"))
    ]
    _panel(axes, Panel("", curves), ScaleAxis.of(result.rule, result.dial.units))
    axes.set_ylabel("score - unedited doc1")
    axes.legend(loc="best")
    return axes


def plot_success(axes: Axes, result: Suppression) -> Axes:
    """The share of unsafe documents below the safe ones over the scales, and the knee."""
    scales = [one.scale for one in result.scales]
    draw_curve(bare(axes), Curve("unsafe below safe", scales, [one.success for one in result.scales], SERIES[0]))
    axes.set_ylim(-0.03, 1.03)
    axes.set_yticks([0, 0.5, 1], ["0", "50%", "100%"])
    axes.set_ylabel("success")
    ScaleAxis.of(result.rule, result.dial.units).draw(axes, scales, "down")
    if result.knee:
        scale = result.knee.scale
        axes.axvline(scale, color=SERIES[4], linewidth=1, linestyle="--")
        axes.annotate(
            f"knee: scale {scale:g}", (scale, 1.0), xytext=(4, -2), textcoords="offset points", color=SERIES[4],
            fontsize=8, va="top",
        )  # fmt: skip
    return axes


def suppression_curves(result: Suppression) -> str:
    """Above the success at each scale, with the knee; below what it costs in nDCG."""
    scales = [one.scale for one in result.scales]
    with drawing(7.2, 5.0) as figure:
        upper, lower = figure.subplots(2, 1, sharex=True)
        plot_success(upper, result).set_xlabel("")
        kept = [one.cost.agreement for one in result.scales]
        draw_curve(bare(lower), Curve("agreement with the unedited", scales, kept, SERIES[2]))
        ndcg = [one.cost.ndcg_after for one in result.scales if one.cost.ndcg_after]
        if ndcg:
            draw_curve(lower, Curve("nDCG@10 by the judgements", scales, ndcg, SERIES[1]))
        lower.set_ylim(top=1.03)
        lower.set_ylabel("nDCG@10")
        ScaleAxis.of(result.rule, result.dial.units).draw(lower, scales)
        figure.legend(*lower.get_legend_handles_labels(), loc="outside lower center", ncols=2)
        return as_svg(figure)


def draw_curve(axes: Axes, curve: Curve) -> None:
    """A line, with its intervals as a band if it has one."""
    values = [float("nan") if one.value is None else one.value for one in curve.estimates]
    axes.plot(
        curve.scales, values, color=curve.colour, linestyle=curve.style, marker="o", markersize=3, label=curve.name
    )
    banded = [(x, one.interval) for x, one in zip(curve.scales, curve.estimates, strict=True) if one.interval]
    if curve.band:
        axes.fill_between(
            [x for x, _ in banded], [one.low for _, one in banded], [one.high for _, one in banded],
            color=curve.colour, alpha=0.15, linewidth=0,
        )  # fmt: skip
