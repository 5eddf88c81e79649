"""The figures of a study of DGRe: means, word graphs, t-SNE; those of opened models are drawn beside."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from whyrank.evaluation.estimate import Estimate
from whyrank.evaluation.interval import Interval
from whyrank.learning.figures import means_figure
from whyrank.learning.tables import Mean
from whyrank.pages.page import Cell, Figure, Figures
from whyrank.papers.disentangled.opened_figures import attention_figure, axioms_figure, heads_figure
from whyrank.papers.disentangled.paper import NO_MODELS
from whyrank.plots.heat_map import ONE_WAY
from whyrank.plots.style import BAD, GOOD, INK, QUIET, SERIES, as_svg, bare, drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Told = Mapping[str, Any]
#: Kinds of points: their colour and mark.
KINDS = {"query": (SERIES[0], "o"), "relevant": (GOOD, "^"), "not relevant": (BAD, "x")}
#: Inches of a cell of a word graph, of its smallest picture, and of what a page shows side by side.
CELL, LEAST, PAGE = 0.105, 3.2, 13.0
#: What is drawn of each way to open the models, and its name.
OPENED = {
    "audits": ("axioms", axioms_figure),
    "heads": ("heads", heads_figure),
    "attention": ("attention", attention_figure),
}


def disentangled_figures(told: Told) -> Figures:
    """By name, whatever parts there are."""
    return dict(_figures(told))


def _figures(told: Told) -> Iterator[tuple[str, Figure]]:
    table = told["tables"].get("table2")
    if table and any(row["name"] not in NO_MODELS for row in table["rows"]):
        yield "means", _means(table)
    shown, opened = told.get("figures"), told.get("opened", {})
    if shown and "lacking" in shown:
        shown = None
    if shown and shown["word_graphs"]:
        yield "word-graphs", _word_graphs(shown)
    if shown and any(one["points"] for one in shown["t_sne"].values()):
        yield "t-sne", _t_sne(shown)
    for part, (name, draw) in OPENED.items():
        if part in opened and "lacking" not in opened[part]:
            yield name, draw(opened[part])


def _means(table: Told) -> Figure:
    rows = [row for row in table["rows"] if row["name"] not in NO_MODELS]
    data: list[list[Cell]] = [
        [row[key] for key in ("name", "measure", "mean", "low", "high", "queries")] for row in rows
    ]
    caption = "Test means of Table 2 with 95% intervals over queries; differences are tested pair by pair, below."
    means = [Mean(row["name"], row["measure"], _estimate(row)) for row in rows]
    return means_figure(means, ["DGRe"]), caption, (["model", "measure", "mean", "low", "high", "queries"], data)


def _estimate(row: Told) -> Estimate:
    return Estimate.of(row["mean"], Interval.from_json(row), row["queries"], row["queries"])


def _word_graphs(shown: Told) -> Figure:
    told = shown["word_graphs"]
    pieces, split = told["pieces"], told["query"]
    side, count = max(LEAST, CELL * len(pieces) + 1.0), len(told["graphs"])
    columns = max(1, min(count, int(PAGE / side)))
    rows = -(-count // columns)
    with drawing(side * columns, (side + 0.9) * rows) as figure:
        for number, (mask, graph) in enumerate(told["graphs"].items()):
            axes = figure.add_subplot(rows, columns, number + 1)
            _graph(axes, graph, pieces, split, told["exact"])
            axes.set_title(f"masking: {mask}", loc="left")
            names = pieces if number % columns == 0 else [""] * len(pieces)
            axes.set_yticks(range(len(pieces)), names, fontsize=5)
        svg = as_svg(figure)
    return svg, _graph_caption(shown), _graph_data(told)


def _graph(axes: Axes, graph: Sequence[Sequence[float]], pieces: Sequence[str], split: int, exact: Any) -> None:
    from matplotlib.patches import Rectangle

    others = [value for i, row in enumerate(graph) for j, value in enumerate(row) if i != j]
    axes.imshow(graph, cmap=ONE_WAY, vmin=0.0, vmax=max(others, default=0.0) or 1.0)
    for line in (axes.axhline, axes.axvline):
        line(split - 0.5, color=INK, linewidth=0.8)
    for i, j in exact:
        for row, column in ((i, j), (j, i)):
            box = Rectangle((column - 0.5, row - 0.5), 1, 1, fill=False, edgecolor=BAD, linewidth=0.8)
            axes.add_patch(box)
    axes.set_xticks(range(len(pieces)), pieces, fontsize=5, rotation=90)
    axes.tick_params(length=0)


def _graph_caption(shown: Told) -> str:
    told = shown["word_graphs"]
    first = " (the part with most words of the query)" if told["cut"] else ""
    return (
        f"Figure 6: DGRe's word graph at layer {told['layer'] + 1} of {told['layers']} for query {shown['qid']}, "
        f"'{shown['query']}', and document {shown['docno']}{first}, graded {shown['grade']}; one trained model "
        "(fold 1, first seed) seen under each mask. A row says what its word hears; the line parts query and "
        "document, boxes are the same word on both sides; each panel's colours end at its largest relation of "
        "two words."
    )


def _graph_data(told: Told) -> tuple[list[str], list[list[Cell]]]:
    rows: list[list[Cell]] = [
        [mask, told["pieces"][i], told["pieces"][j], value]
        for mask, graph in told["graphs"].items()
        for i, row in enumerate(graph)
        for j, value in enumerate(row)
    ]
    return ["masking", "word", "hears", "relation"], rows


def _t_sne(shown: Told) -> Figure:
    panels = {title: one for title, one in shown["t_sne"].items() if one["points"]}
    with drawing(2.9 * len(panels) + 0.4, 3.3) as figure:
        places = figure.subplots(1, len(panels), squeeze=False)[0]
        for axes, (title, one) in zip(places, panels.items(), strict=True):
            _plane(axes, one["points"])
            axes.set_title(title, loc="left")
        handles, labels = places[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=4)
        svg = as_svg(figure)
    first = next(iter(panels.values()))
    caption = (
        f"Figures 7 and 8: t-SNE (perplexity {first['perplexity']:.1f}) of the last layer's vectors of query "
        f"{shown['qid']}, as it is read beside each candidate, of its {first['relevant']} relevant and "
        f"{first['others']} other candidates, for each loss; large marks are centroids. Neighbours mean something "
        "here, distances do not: cosines of the centroids are in the table below."
    )
    rows: list[list[Cell]] = [[title, *point] for title, one in panels.items() for point in one["points"]]
    return svg, caption, (["loss", "kind", "x", "y"], rows)


def _plane(axes: Axes, points: Sequence[tuple[str, float, float]]) -> None:
    for kind, (colour, mark) in KINDS.items():
        xs, ys = [p[1] for p in points if p[0] == kind], [p[2] for p in points if p[0] == kind]
        if xs:
            axes.plot(xs, ys, mark, color=colour, markersize=3.5, alpha=0.6, linestyle="none", label=kind)
            centre = sum(xs) / len(xs), sum(ys) / len(ys)
            edge = {"markeredgecolor": INK} if mark != "x" else {"markeredgewidth": 3}
            axes.plot(*centre, mark, color=colour, markersize=11, **edge)
    axes.set_xticks([])
    axes.set_yticks([])
    bare(axes).spines["left"].set_color(QUIET)
