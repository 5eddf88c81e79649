"""The figures of an audit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from whyrank.audit.results import OUTCOMES, AxiomSummary
from whyrank.plots.style import BAD, GOOD, INK, NEUTRAL, SERIES, as_svg, bare, drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Letters of a name in a figure.
LONGEST_NAME = 40
COLOURS = dict(zip(OUTCOMES, (GOOD, NEUTRAL, BAD), strict=True))


def outcome_bars(summaries: Sequence[AxiomSummary]) -> str:
    """For each ranker a column, for each axiom a bar: the shares that hold, are neutral, violate."""
    rankers = list(dict.fromkeys(summary.ranker for summary in summaries))
    axioms = list(dict.fromkeys(summary.axiom for summary in summaries))
    found = {(summary.ranker, summary.axiom): summary for summary in summaries}
    with drawing(2.2 + 2.1 * len(rankers), 0.9 + 0.27 * len(axioms)) as figure:
        columns = figure.subplots(1, len(rankers), sharey=True, squeeze=False)[0]
        for axes, ranker in zip(columns, rankers, strict=True):
            _stack(axes, [found.get((ranker, axiom)) for axiom in axioms])
            axes.set_title(_short(ranker), loc="left")
        columns[0].set_yticks(range(len(axioms)), [_short(axiom) for axiom in axioms])
        columns[0].invert_yaxis()
        handles, labels = columns[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower right", ncols=3)
        return as_svg(figure)


def plot_outcomes(axes: Axes, summaries: Sequence[AxiomSummary]) -> Axes:
    """The same of one ranker, on given axes."""
    _stack(axes, summaries)
    axes.set_yticks(range(len(summaries)), [_short(summary.axiom) for summary in summaries])
    axes.invert_yaxis()
    axes.set_title(_short(summaries[0].ranker), loc="left")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=3, frameon=False)
    return axes


def _stack(axes: Axes, summaries: Sequence[AxiomSummary | None]) -> None:
    left = [0.0] * len(summaries)
    for outcome in OUTCOMES:
        shares = [summary.outcome(outcome).value or 0.0 if summary else 0.0 for summary in summaries]
        axes.barh(range(len(summaries)), shares, left=left, color=COLOURS[outcome], height=0.7, label=outcome)
        left = [x + share for x, share in zip(left, shares, strict=True)]
    axes.set_xlim(0, 1)
    axes.set_xticks([0, 0.5, 1], ["0", "50%", "100%"])
    bare(axes)


def curves(summaries: Sequence[AxiomSummary], what: str) -> str:
    """`difference` or `not_rising` over k, one line per ranker with its interval, and the best fit dotted."""
    with drawing(7.2, 3.0) as figure:
        axes = bare(figure.subplots())
        for summary, colour in zip(summaries, _colours(len(summaries)), strict=True):
            _curve(axes, summary, what, colour)
        axes.axhline(0, color=INK, linewidth=0.6)
        axes.set_xlabel("k, occurrences of the term")
        axes.set_ylabel(
            "mean difference, share of its largest" if what == "difference" else "share that does not rise"
        )
        axes.legend(loc="best")
        return as_svg(figure)


def _curve(axes: Axes, summary: AxiomSummary, what: str, colour: str) -> None:
    ks = [point.k for point in summary.curve]
    found = [getattr(point, what) for point in summary.curve]
    values = [one.value or 0.0 for one in found]
    scale = max(map(abs, values)) or 1 if what == "difference" else 1
    axes.plot(ks, [v / scale for v in values], color=colour, marker="o", markersize=3, label=summary.ranker)
    low, high = [one.interval.low / scale for one in found], [one.interval.high / scale for one in found]
    axes.fill_between(ks, low, high, color=colour, alpha=0.15, linewidth=0)
    fits = summary.fits if what == "difference" else summary.violation_fits
    if fits:
        axes.plot(ks, [fits[0].at(k) / scale for k in ks], color=colour, linestyle=":", linewidth=1)


def _short(name: str) -> str:
    """A name that leaves room for the bars."""
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"


def _colours(count: int) -> list[str]:
    return [SERIES[i % len(SERIES)] for i in range(count)]
