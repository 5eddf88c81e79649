"""The figures of SemanticBM: predictions against scores, models side by side, coefficients by head."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from whyrank.plots.heat_map import interval_bars
from whyrank.plots.style import INK, QUIET, SERIES, as_svg, bare, drawing

#: Points drawn at most; of more, every so many.
MOST_POINTS = 3000


def predicted(points: Sequence[tuple[str, str, float, float]], ranker: str) -> str:
    """A dot a pair: the cross-encoder's score, and what SemanticBM says."""
    some = points[:: 1 + len(points) // MOST_POINTS]
    scores, values = [score for _, _, score, _ in some], [value for *_, value in some]
    with drawing(7.2, 4.6) as figure:
        axes = bare(figure.subplots())
        axes.plot(scores, values, "o", markersize=2.5, color=SERIES[0], alpha=0.5, markeredgewidth=0)
        ends = [min(*scores, *values), max(*scores, *values)]
        axes.plot(ends, ends, color=QUIET, linewidth=0.7, linestyle=":")
        axes.set_xlabel(f"score of {ranker}")
        axes.set_ylabel("SemanticBM")
        return as_svg(figure)


def model_bars(protocol: Mapping[str, Any], names: Mapping[str, str]) -> str:
    """Pearson of every model with its interval; random heads with the range of their draws."""
    told = [(names[model["name"]], model["pearson"]) for model in protocol["models"]]
    bars = [(name, _or_nan(one["r"]), (_or_nan(one["low"]), _or_nan(one["high"]))) for name, one in told]
    drawn = protocol["random_heads"]
    if drawn and drawn["pearson"]:
        spread = drawn["pearson"]
        bars.append(("random heads (range)", spread["mean"], (spread["least"], spread["most"])))
    return interval_bars([b[0] for b in bars], [b[1] for b in bars], [b[2] for b in bars], "Pearson")


def coefficient_bars(coefficients: Sequence[Mapping[str, Any]]) -> str:
    """The standardised coefficients of each head, matching and interaction, and that of U0."""
    heads = list(dict.fromkeys(one["head"] for one in coefficients if one["head"]))
    rows = ["U0", *heads]
    with drawing(7.2, 0.9 + 0.32 * len(rows)) as figure:
        axes = bare(figure.subplots())
        for part, shift, colour in (
            ("u0", 0.0, SERIES[2]),
            ("matching", -0.2, SERIES[0]),
            ("interaction", 0.2, SERIES[1]),
        ):
            mine = [one for one in coefficients if one["part"] == part]
            places = [(rows.index(one["head"]) if one["head"] else 0) + shift for one in mine]
            axes.barh(places, [one["standardised"] for one in mine], height=0.36, color=colour, label=part)
            for place, one in zip(places, mine, strict=True):
                if one["low"] is not None and one["high"] is not None:
                    axes.plot([one["low"], one["high"]], [place, place], color=INK, linewidth=0.9)
        axes.axvline(0, color=QUIET, linewidth=0.6)
        axes.set_yticks(range(len(rows)), rows)
        axes.invert_yaxis()
        axes.set_xlabel("standardised coefficient")
        axes.legend(loc="best")
        return as_svg(figure)


def _or_nan(value: float | None) -> float:
    return float("nan") if value is None else value
