"""The figures of an audit."""

from __future__ import annotations

from collections.abc import Sequence

from whyrank.axioms.summary import OUTCOMES, AxiomSummary
from whyrank.reports.style import BAD, GOOD, INK, NEUTRAL, SERIES, as_svg, bare, drawing

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
            left = [0.0] * len(axioms)
            for outcome in OUTCOMES:
                shares = [found[ranker, a].shares[outcome] if (ranker, a) in found else 0.0 for a in axioms]
                axes.barh(range(len(axioms)), shares, left=left, color=COLOURS[outcome], height=0.7, label=outcome)
                left = [x + share for x, share in zip(left, shares, strict=True)]
            axes.set_title(_short(ranker), loc="left")
            axes.set_xlim(0, 1)
            axes.set_xticks([0, 0.5, 1], ["0", "50%", "100%"])
            bare(axes)
        columns[0].set_yticks(range(len(axioms)), [_short(axiom) for axiom in axioms])
        columns[0].invert_yaxis()
        handles, labels = columns[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower right", ncols=3)
        return as_svg(figure)


def curves(summaries: Sequence[AxiomSummary], what: str) -> str:
    """`difference` or `not_rising` over k, a line a ranker with its interval, and the best fit dotted."""
    with drawing(7.2, 3.0) as figure:
        axes = bare(figure.subplots())
        for summary, colour in zip(summaries, _colours(len(summaries)), strict=True):
            ks = [point.k for point in summary.curve]
            values = [getattr(point, what) for point in summary.curve]
            bands = [
                point.interval if what == "difference" else point.not_rising_interval for point in summary.curve
            ]
            scale = max(map(abs, values)) or 1 if what == "difference" else 1
            axes.plot(
                ks, [v / scale for v in values], color=colour, marker="o", markersize=3, label=summary.ranker
            )
            low, high = [band.low / scale for band in bands], [band.high / scale for band in bands]
            axes.fill_between(ks, low, high, color=colour, alpha=0.15, linewidth=0)
            fits = summary.fits if what == "difference" else summary.violation_fits
            if fits:
                axes.plot(ks, [fits[0].at(k) / scale for k in ks], color=colour, linestyle=":", linewidth=1)
        axes.axhline(0, color=INK, linewidth=0.6)
        axes.set_xlabel("k, occurrences of the term")
        axes.set_ylabel(
            "mean difference, share of its largest" if what == "difference" else "share that does not rise"
        )
        axes.legend(loc="best")
        return as_svg(figure)


def _short(name: str) -> str:
    """A name that leaves room for the bars."""
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"


def _colours(count: int) -> list[str]:
    return [SERIES[i % len(SERIES)] for i in range(count)]
