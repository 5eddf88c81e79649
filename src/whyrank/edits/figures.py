"""The figures of edits: documents that change places, pieces that are turned, curves over scales."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

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
    estimates: Sequence[Mapping[str, Any]]
    colour: str = SERIES[0]
    style: str = "-"
    band: bool = True


def moves(changes: Sequence[Mapping[str, Any]]) -> str:
    """For the queries that change most: each moved document's rank before and after."""
    some = changes[:MOST_QUERIES]
    deepest = max(max(d["before"], d["after"]) for change in some for d in change["documents"])
    with drawing(0.8 + 2.1 * len(some), 3.4) as figure:
        places = figure.subplots(1, len(some), squeeze=False, sharey=True)[0]
        for axes, change in zip(places, some, strict=True):
            _bump(bare(axes), change)
        places[0].set_ylim(deepest + 0.7, 0.3)
        return as_svg(figure)


def _bump(axes: Axes, change: Mapping[str, Any]) -> None:
    for document in change["documents"]:
        before, after = document["before"], document["after"]
        colour = GOOD if after < before else BAD
        axes.plot([0, 1], [before, after], color=colour, marker="o", markersize=3, linewidth=1.2)
        for x, rank, side in ((0, before, "right"), (1, after, "left")):
            axes.annotate(
                str(rank), (x, rank), xytext=(-5 if x == 0 else 5, 0), textcoords="offset points", ha=side,
                va="center", fontsize=7, color=INK,
            )  # fmt: skip
    query = change["query"]
    axes.set_title(query if len(query) <= TITLE else f"{query[: TITLE - 1]}…", loc="left", fontsize=8)
    axes.set_xlim(-0.35, 1.35)
    axes.set_xticks([0, 1], ["before", "after"])
    axes.set_yticks([])
    for side in ("left", "bottom"):
        axes.spines[side].set_visible(False)
    axes.tick_params(length=0)


def turned_pieces(turns: Sequence[Mapping[str, Any]]) -> str:
    """U_0 of each piece, before (grey) and after; to the left is rarer."""
    some = turns[:MOST_PIECES]
    with drawing(7.2, 1.0 + 0.26 * len(some)) as figure:
        axes = bare(figure.subplots())
        for place, turn in enumerate(some):
            before, after = turn["before"], turn["after"]
            axes.plot([before, after], [place, place], color=NEUTRAL, linewidth=2, zorder=1)
            axes.plot(before, place, "o", color=QUIET, markersize=5, label="before" if place == 0 else None)
            axes.plot(after, place, "o", color=SERIES[0], markersize=5, label="after" if place == 0 else None)
        axes.axvline(0, color=QUIET, linewidth=0.6)
        axes.set_yticks(range(len(some)), [turn["piece"] for turn in some])
        axes.set_ylim(len(some) - 0.5, -0.5)
        axes.set_xlabel("U0: rarer to the left, more common to the right")
        figure.legend(loc="outside upper right", ncols=2)
        return as_svg(figure)


def scale_curves(panels: Mapping[str, Sequence[Curve]], y_title: str, *, zero: bool = True) -> str:
    """Panels side by side on one scale: curves over scales (logarithms), with their intervals as bands."""
    with drawing(0.7 + 3.5 * len(panels), 3.3) as figure:
        places = figure.subplots(1, len(panels), squeeze=False, sharey=True)[0]
        for axes, (title, curves) in zip(places, panels.items(), strict=True):
            for curve in curves:
                draw_curve(bare(axes), curve)
            if zero:
                axes.axhline(0, color=QUIET, linewidth=0.6)
            over_scales(axes, max((curve.scales for curve in curves), key=len))
            axes.set_title(title, loc="left")
        places[0].set_ylabel(y_title)
        handles = {h.get_label(): h for h in places[0].get_legend_handles_labels()[0]}
        if len(handles) > 1:
            figure.legend(
                list(handles.values()), list(handles), loc="outside lower center", ncols=min(6, len(handles))
            )
        return as_svg(figure)


def suppression(told: Mapping[str, Any]) -> str:
    """Above the success at each scale, with the knee; below what it costs in nDCG."""
    rows = told["scales"]
    scales = [row["scale"] for row in rows]
    judged = rows[0]["cost"]["ndcg_after"] is not None
    with drawing(7.2, 5.0) as figure:
        upper, lower = figure.subplots(2, 1, sharex=True)
        draw_curve(bare(upper), Curve("unsafe below safe", scales, [row["success"] for row in rows], SERIES[0]))
        upper.set_ylim(-0.03, 1.03)
        upper.set_yticks([0, 0.5, 1], ["0", "50%", "100%"])
        upper.set_ylabel("success")
        if told["knee"]:
            _mark_knee(upper, told["knee"])
        agreement = Curve(
            "agreement with the unedited", scales, [row["cost"]["agreement"] for row in rows], SERIES[2]
        )
        draw_curve(bare(lower), agreement)
        if judged:
            ndcg = [row["cost"]["ndcg_after"] for row in rows]
            draw_curve(lower, Curve("nDCG@10 by the judgements", scales, ndcg, SERIES[1]))
        lower.set_ylim(top=1.03)
        lower.set_ylabel("nDCG@10")
        over_scales(lower, scales)
        figure.legend(*lower.get_legend_handles_labels(), loc="outside lower center", ncols=2)
        return as_svg(figure)


def _mark_knee(axes: Axes, knee: Mapping[str, Any]) -> None:
    axes.axvline(knee["scale"], color=SERIES[4], linewidth=1, linestyle="--")
    axes.annotate(
        f"knee: scale {knee['scale']:g}", (knee["scale"], 1.0), xytext=(4, -2), textcoords="offset points",
        color=SERIES[4], fontsize=8, va="top",
    )  # fmt: skip


def draw_curve(axes: Axes, curve: Curve) -> None:
    """A line, with its intervals as a band if it has one."""
    values = [estimate["value"] for estimate in curve.estimates]
    axes.plot(
        curve.scales, values, color=curve.colour, linestyle=curve.style, marker="o", markersize=3, label=curve.name
    )
    ends = zip(curve.scales, curve.estimates, strict=True)
    banded = [(s, e) for s, e in ends if curve.band and e["low"] is not None]
    axes.fill_between(
        [s for s, _ in banded], [e["low"] for _, e in banded], [e["high"] for _, e in banded],
        color=curve.colour, alpha=0.15, linewidth=0,
    )  # fmt: skip


def over_scales(axes: Axes, scales: Sequence[float]) -> None:
    """Scales as logarithms, each named."""
    axes.set_xscale("log")
    axes.set_xticks(list(scales), [f"{scale:g}" for scale in scales])
    axes.minorticks_off()
    axes.set_xlabel("scale")
