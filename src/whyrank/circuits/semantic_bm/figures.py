"""The figures of SemanticBM: predictions against scores, models side by side, coefficients by head."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from whyrank.circuits.semantic_bm.features import INTERACTION, MATCHING
from whyrank.circuits.semantic_bm.features import U0 as IDF
from whyrank.circuits.semantic_bm.results import Coefficient, ProtocolResult, SemanticBM
from whyrank.circuits.semantic_bm.tables import NAMES
from whyrank.plots.style import INK, QUIET, SERIES, as_svg, bare, drawing

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

#: Points drawn at most; of more, every so many.
MOST_POINTS = 3000


def semantic_bm_figures(result: SemanticBM) -> dict[str, str]:
    """As SVG, by name."""
    test = result.test_part()
    found = {"models": _models(result.default), "coefficients": coefficient_bars(result.model.coefficients)}
    return {"predicted": predicted(test, result.ranker.name), **found} if len(test) else found


def predicted(test: pd.DataFrame, ranker: str) -> str:
    """One dot per pair: the cross-encoder's score, and what SemanticBM says."""
    some = test.iloc[:: 1 + len(test) // MOST_POINTS]
    scores, values = some["cross_encoder"].tolist(), some["semantic_bm"].tolist()
    with drawing(7.2, 4.6) as figure:
        axes = bare(figure.subplots())
        axes.plot(scores, values, "o", markersize=2.5, color=SERIES[0], alpha=0.5, markeredgewidth=0)
        ends = [min(*scores, *values), max(*scores, *values)]
        axes.plot(ends, ends, color=QUIET, linewidth=0.7, linestyle=":")
        axes.set_xlabel(f"score of {ranker}")
        axes.set_ylabel("SemanticBM")
        return as_svg(figure)


def _models(protocol: ProtocolResult) -> str:
    with drawing(7.2, 0.7 + 0.26 * (len(protocol.models) + 1)) as figure:
        plot_models(figure.subplots(), protocol)
        return as_svg(figure)


def plot_models(axes: Axes, protocol: ProtocolResult) -> Axes:
    """Pearson of every model with its interval; random heads with the range of their draws."""
    bars = [(NAMES[one.name], one.pearson.value, one.pearson.low, one.pearson.high) for one in protocol.models]
    drawn = protocol.random_heads.pearson if protocol.random_heads else None
    if drawn:
        bars.append(("random heads (range)", drawn.mean, drawn.least, drawn.most))
    bare(axes)
    axes.barh(range(len(bars)), [value or 0.0 for _, value, _, _ in bars], color=SERIES[0], height=0.66)
    for place, (_, _, low, high) in enumerate(bars):
        if low is not None and high is not None:
            axes.plot([low, high], [place, place], color=INK, linewidth=1)
    axes.axvline(0, color=QUIET, linewidth=0.6)
    axes.set_yticks(range(len(bars)), [name for name, _, _, _ in bars])
    axes.invert_yaxis()
    axes.set_xlabel("Pearson")
    return axes


def coefficient_bars(coefficients: Sequence[Coefficient]) -> str:
    """The standardised coefficients of each head, matching and interaction, and that of U0."""
    heads = list(dict.fromkeys(one.head for one in coefficients if one.head))
    rows = ["U0", *heads]
    with drawing(7.2, 0.9 + 0.32 * len(rows)) as figure:
        axes = bare(figure.subplots())
        for part, shift, colour in (
            (IDF, 0.0, SERIES[2]),
            (MATCHING, -0.2, SERIES[0]),
            (INTERACTION, 0.2, SERIES[1]),
        ):
            mine = [one for one in coefficients if one.part == part]
            places = [(rows.index(one.head) if one.head else 0) + shift for one in mine]
            weights = [one.standardised for one in mine]
            axes.barh(places, [one.value or 0.0 for one in weights], height=0.36, color=colour, label=part)
            for place, one in zip(places, weights, strict=True):
                if one.low is not None and one.high is not None:
                    axes.plot([one.low, one.high], [place, place], color=INK, linewidth=0.9)
        axes.axvline(0, color=QUIET, linewidth=0.6)
        axes.set_yticks(range(len(rows)), rows)
        axes.invert_yaxis()
        axes.set_xlabel("standardised coefficient")
        axes.legend(loc="best")
        return as_svg(figure)
