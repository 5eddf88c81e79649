"""The figures of an audit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from whyrank.audit.results import OUTCOMES, AxiomSummary
from whyrank.evaluation.curves import Fit
from whyrank.evaluation.estimate import Estimate
from whyrank.plots.bars import draw_shares, short
from whyrank.plots.lines import Point, line_plots
from whyrank.plots.style import BAD, GOOD, NEUTRAL, WIDTH, as_svg, drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = dict(zip(OUTCOMES, (GOOD, NEUTRAL, BAD), strict=True))
#: Inches of a column of bars, and of the axioms' names.
COLUMN, NAMES = 2.1, 2.0


def outcome_bars(summaries: Sequence[AxiomSummary]) -> str:
    """For each ranker a column, for each axiom a bar: the shares that hold, are neutral, violate."""
    rankers = list(dict.fromkeys(summary.ranker for summary in summaries))
    axioms = list(dict.fromkeys(summary.axiom for summary in summaries))
    found = {(summary.ranker, summary.axiom): summary for summary in summaries}
    with drawing(max(WIDTH, NAMES + COLUMN * len(rankers)), 0.9 + 0.27 * len(axioms)) as figure:
        columns = figure.subplots(1, len(rankers), sharey=True, squeeze=False)[0]
        for axes, ranker in zip(columns, rankers, strict=True):
            _bars(axes, axioms, [found.get((ranker, axiom)) for axiom in axioms])
            axes.set_title(short(ranker), loc="left")
        handles, labels = columns[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=3)
        return as_svg(figure)


def plot_outcomes(axes: Axes, summaries: Sequence[AxiomSummary]) -> Axes:
    """The same of one ranker, on given axes."""
    _bars(axes, [summary.axiom for summary in summaries], summaries)
    axes.set_title(short(summaries[0].ranker), loc="left")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=3, frameon=False)
    return axes


def _bars(axes: Axes, axioms: Sequence[str], summaries: Sequence[AxiomSummary | None]) -> None:
    shares = {
        outcome: (colour, [one.outcome(outcome).value or 0.0 if one else 0.0 for one in summaries])
        for outcome, colour in COLOURS.items()
    }
    draw_shares(axes, axioms, shares)


def difference_curves(summaries: Sequence[AxiomSummary]) -> str:
    """The mean difference over k as a share of its largest, one line per ranker, with its best fit."""
    title = "mean difference, share of its largest"
    return _curves(title, {one.ranker: _scaled(one) for one in summaries})


def not_rising_curves(summaries: Sequence[AxiomSummary]) -> str:
    """The share of pairs whose score does not rise over k, one line per ranker, with its best fit."""
    found = {one.ranker: _points(one, [p.not_rising for p in one.curve], one.violation_fits) for one in summaries}
    return _curves("share that does not rise", found)


#: The points of a curve, and those of its best fit.
Drawn = tuple[list[Point], list[Point]]


def _curves(title: str, found: dict[str, Drawn]) -> str:
    curves = {name: points for name, (points, _) in found.items()}
    fits = {name: fit for name, (_, fit) in found.items()}
    return line_plots({"": curves}, "k, occurrences of the term", title, thin={"": fits})


def _scaled(summary: AxiomSummary) -> Drawn:
    estimates = [point.difference for point in summary.curve]
    return _points(summary, estimates, summary.fits, max(abs(one.value or 0.0) for one in estimates) or 1.0)


def _points(
    summary: AxiomSummary, estimates: Sequence[Estimate], fits: Sequence[Fit], scale: float = 1.0
) -> Drawn:
    ks = [point.k for point in summary.curve]
    share = lambda value: None if value is None else value / scale  # noqa: E731
    points = [
        Point(k, share(one.value) or 0.0, share(one.low), share(one.high))
        for k, one in zip(ks, estimates, strict=True)
    ]
    return points, [Point(k, fits[0].at(k) / scale) for k in ks] if fits else []
