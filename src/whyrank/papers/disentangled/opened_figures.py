"""The figures of opened models: axioms, heads and attention."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from whyrank.pages.page import Cell, Figure
from whyrank.plots.heat_map import heat_maps, interval_bars, robust_end
from whyrank.plots.style import QUIET, SERIES, as_svg, bare, drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Told = Mapping[str, Any]
#: How groups of models are called.
GROUPS = {"bert": "BERT", "dgre": "DGRe"}


def axioms_figure(told: Told) -> Figure:
    rows = told["axioms"]
    ends = [(_number(row["low"]), _number(row["high"])) for row in rows]
    title = "share of pairs that hold: DGRe less BERT"
    svg = interval_bars([row["axiom"] for row in rows], [row["difference"] for row in rows], ends, title)
    data: list[list[Cell]] = [
        [row[key] for key in ("axiom", "difference", "low", "high", "p", "p_holm", "n")] for row in rows
    ]
    caption = "To the right: DGRe obeys the axiom more often than BERT. Lines are 95% intervals over queries."
    return svg, caption, (["axiom", "difference", "low", "high", "p", "p (Holm)", "pairs"], data)


def heads_figure(told: Told) -> Figure:
    maps = {
        GROUPS.get(title, title): {
            (head["layer"], head["head"]): head["share"] for head in one["heads"] if head["share"] is not None
        }
        for title, one in told["maps"].items()
    }
    marked = {
        GROUPS.get(title, title): {
            (head["layer"], head["head"]) for head in one["heads"] if head["significant"] == head["of"] > 0
        }
        for title, one in told["maps"].items()
    }
    every = [(head["layer"], head["head"]) for one in told["maps"].values() for head in one["heads"]]
    layers, heads = (max(place[i] for place in every) + 1 for i in range(2))
    svg = heat_maps(
        maps, [str(i) for i in range(layers)], [str(i) for i in range(heads)], row_title="layer",
        column_title="head", value_title="share of the gap", marked=marked, end=robust_end(maps, marked),
    )  # fmt: skip
    caption = (
        f"Activation patching of every head, {told['axiom']}, {told['pairs']} pairs of test queries: the share "
        "of the gap between baseline and perturbed that a head recovers, the mean over the seeds whose gap is "
        "surely above 0. Dots: significant in each of these (Holm over the heads)."
    )
    rows: list[list[Cell]] = [
        [GROUPS.get(title, title), *(head[key] for key in ("layer", "head", "share", "significant", "of"))]
        for title, one in told["maps"].items()
        for head in one["heads"]
    ]
    return svg, caption, (["model", "layer", "head", "share", "significant in seeds", "seeds"], rows)


def attention_figure(told: Told) -> Figure:
    names = [name for name in told["layers"][0] if name != "layer"]
    rows: list[list[Cell]] = []
    with drawing(6.4, 3.4) as figure:
        axes = bare(figure.subplots())
        for number, name in enumerate(names):
            points = [
                (row["layer"], *(row[name][key] for key in ("value", "low", "high"))) for row in told["layers"]
            ]
            _band(axes, GROUPS.get(name, name), points, SERIES[number])
            rows += [[GROUPS.get(name, name), *point] for point in points]
        uniform = told["means"]["uniform"]["value"]
        axes.axhline(uniform, color=QUIET, linestyle=":", label="uniform attention")
        axes.set_xticks([row["layer"] for row in told["layers"]])
        axes.set_xlabel("layer")
        axes.set_ylabel("share on spurious relations")
        figure.legend(loc="outside lower center", ncols=4)
        svg = as_svg(figure)
    caption = (
        "The share of attention mass between query words and document words, all heads of a layer, that lies on "
        f"spurious relations; {told['readings']} readings of {told['queries']} test queries; bands are 95% "
        "intervals. BERT's score does not depend on the last layer's. The axis does not begin at 0."
    )
    return svg, caption, (["model", "layer", "share", "low", "high"], rows)


def _band(axes: Axes, name: str, points: Sequence[tuple[Any, ...]], colour: str) -> None:
    """A curve with its interval."""
    xs, values, lows, highs = zip(*points, strict=True)
    axes.plot(xs, values, marker="o", markersize=3, color=colour, label=name)
    if None not in (*lows, *highs):
        axes.fill_between(xs, lows, highs, color=colour, alpha=0.15, linewidth=0)


def _number(value: float | None) -> float:
    return float("nan") if value is None else value
