"""The figures of a study of DGRe: means, word graphs, t-SNE; axioms, heads and attention of the opened models."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from whyrank.evaluation.estimate import Estimate
from whyrank.pages.page import Cell, Data, Figure, Figures
from whyrank.papers.disentangled.kept_models import GROUPS
from whyrank.papers.disentangled.paper import NO_MODELS
from whyrank.papers.disentangled.results import (
    AttentionCompared,
    AuditsCompared,
    Disentangled,
    HeadMaps,
    OneQuery,
    PlanePoint,
    Row,
    Table,
    WordGraphs,
)
from whyrank.plots.bars import interval_bars
from whyrank.plots.heat_map import ONE_WAY, heat_maps, robust_end
from whyrank.plots.style import BAD, GOOD, INK, QUIET, SERIES, as_svg, bare, drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Kinds of points: their colour and mark.
KINDS = {"query": (SERIES[0], "o"), "relevant": (GOOD, "^"), "not relevant": (BAD, "x")}
#: Inches of a cell of a word graph, of its smallest picture, and of what a page shows side by side.
CELL, LEAST, PAGE = 0.105, 3.2, 13.0


def disentangled_figures(study: Disentangled) -> Figures:
    """By name, whatever parts there are."""
    return dict(_figures(study))


def _figures(study: Disentangled) -> Iterator[tuple[str, Figure]]:
    table, shown = study.tables.get("table2"), study.one_query
    if table and any(row.name not in NO_MODELS for row in table.rows):
        yield "means", _means(table)
    if shown and shown.word_graphs:
        yield "word-graphs", _word_graphs(shown, shown.word_graphs)
    if shown and any(one.points for one in shown.t_sne.values()):
        yield "t-sne", _t_sne(shown)
    if study.audits:
        yield "axioms", axioms_figure(study.audits)
    if study.heads:
        yield "heads", heads_figure(study.heads)
    if study.attention:
        yield "attention", attention_figure(study.attention)


def _means(table: Table) -> Figure:
    rows = [row for row in table.rows if row.name not in NO_MODELS]
    names, measures = (list(dict.fromkeys(getattr(row, key) for row in rows)) for key in ("name", "measure"))
    with drawing(9.0, 0.9 + 0.28 * len(names)) as figure:
        panels = figure.subplots(1, len(measures), sharey=True, squeeze=False)[0]
        for axes, measure in zip(panels, measures, strict=True):
            bare(axes).set_title(f"test {measure}", loc="left")
            for row in rows:
                if row.measure == measure:
                    _interval(axes, names.index(row.name), row)
        panels[0].set_yticks(range(len(names)), names)
        panels[0].set_ylim(len(names) - 0.4, -0.6)
        svg = as_svg(figure)
    data: list[list[Cell]] = [
        [row.name, row.measure, row.mean.value, row.mean.low, row.mean.high, row.queries] for row in rows
    ]
    caption = "Test means of Table 2 with 95% intervals over queries; differences are tested pair by pair, below."
    return svg, caption, (["model", "measure", "mean", "low", "high", "queries"], data)


def _interval(axes: Axes, place: int, row: Row) -> None:
    colour = SERIES[0] if row.name == "DGRe" else SERIES[1]
    value, low, high = map(_or_nan, _cells(row.mean))
    if row.mean.interval:
        axes.plot([low, high], [place, place], color=colour, linewidth=2)
    axes.plot(value, place, "o", color=colour, markersize=5)


def _word_graphs(shown: OneQuery, found: WordGraphs) -> Figure:
    pieces = found.pieces
    side, count = max(LEAST, CELL * len(pieces) + 1.0), len(found.graphs)
    columns = max(1, min(count, int(PAGE / side)))
    rows = -(-count // columns)
    with drawing(side * columns, (side + 0.9) * rows) as figure:
        for number, (mask, graph) in enumerate(found.graphs.items()):
            axes = figure.add_subplot(rows, columns, number + 1)
            _graph(axes, graph, found)
            axes.set_title(f"masking: {mask}", loc="left")
            names = pieces if number % columns == 0 else [""] * len(pieces)
            axes.set_yticks(range(len(pieces)), names, fontsize=5)
        svg = as_svg(figure)
    return svg, _graph_caption(shown, found), _graph_data(found)


def _graph(axes: Axes, graph: Sequence[Sequence[float]], found: WordGraphs) -> None:
    from matplotlib.patches import Rectangle

    others = [value for i, row in enumerate(graph) for j, value in enumerate(row) if i != j]
    axes.imshow(graph, cmap=ONE_WAY, vmin=0.0, vmax=max(others, default=0.0) or 1.0)
    for line in (axes.axhline, axes.axvline):
        line(found.query - 0.5, color=INK, linewidth=0.8)
    for i, j in found.exact:
        for row, column in ((i, j), (j, i)):
            box = Rectangle((column - 0.5, row - 0.5), 1, 1, fill=False, edgecolor=BAD, linewidth=0.8)
            axes.add_patch(box)
    axes.set_xticks(range(len(found.pieces)), found.pieces, fontsize=5, rotation=90)
    axes.tick_params(length=0)


def _graph_caption(shown: OneQuery, found: WordGraphs) -> str:
    part = " (the part with most words of the query)" if found.cut else ""
    return (
        f"Figure 6: DGRe's word graph at layer {found.layer + 1} of {found.layers} for query {shown.qid}, "
        f"'{shown.query}', and document {shown.docno}{part}, graded {shown.grade}; one trained model "
        "(fold 1, first seed) under each mask. A row shows from which words its word receives; the line separates "
        "query and document, boxes are the same word on both sides; each panel's colours end at its largest "
        "relation of two words."
    )


def _graph_data(found: WordGraphs) -> Data:
    rows: list[list[Cell]] = [
        [mask, found.pieces[i], found.pieces[j], value]
        for mask, graph in found.graphs.items()
        for i, row in enumerate(graph)
        for j, value in enumerate(row)
    ]
    return ["masking", "word", "receives from", "relation"], rows


def _t_sne(shown: OneQuery) -> Figure:
    panels = {title: one for title, one in shown.t_sne.items() if one.points}
    with drawing(2.9 * len(panels) + 0.4, 3.3) as figure:
        places = figure.subplots(1, len(panels), squeeze=False)[0]
        for axes, (title, one) in zip(places, panels.items(), strict=True):
            _plane(axes, one.points)
            axes.set_title(title, loc="left")
        handles, labels = places[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=4)
        svg = as_svg(figure)
    first = next(iter(panels.values()))
    caption = (
        f"Figures 7 and 8: t-SNE (perplexity {first.perplexity:.1f}) of the last layer's vectors of query "
        f"{shown.qid}, as it is read beside each candidate, of its {first.relevant} relevant and "
        f"{first.others} other candidates, for each loss; large marks are centroids. Neighbours mean something "
        "here, distances do not: cosines of the centroids are in the table below."
    )
    rows: list[list[Cell]] = [
        [title, point.kind, point.x, point.y] for title, one in panels.items() for point in one.points
    ]
    return svg, caption, (["loss", "kind", "x", "y"], rows)


def _plane(axes: Axes, points: Sequence[PlanePoint]) -> None:
    for kind, (colour, mark) in KINDS.items():
        xs, ys = [p.x for p in points if p.kind == kind], [p.y for p in points if p.kind == kind]
        if xs:
            axes.plot(xs, ys, mark, color=colour, markersize=3.5, alpha=0.6, linestyle="none", label=kind)
            centre = sum(xs) / len(xs), sum(ys) / len(ys)
            edge = {"markeredgecolor": INK} if mark != "x" else {"markeredgewidth": 3}
            axes.plot(*centre, mark, color=colour, markersize=11, **edge)
    axes.set_xticks([])
    axes.set_yticks([])
    bare(axes).spines["left"].set_color(QUIET)


def axioms_figure(audits: AuditsCompared) -> Figure:
    rows = audits.axioms
    ends = [(_or_nan(row.difference.low), _or_nan(row.difference.high)) for row in rows]
    title = "share of pairs that hold: DGRe less BERT"
    svg = interval_bars([row.axiom for row in rows], [row.difference.value or 0.0 for row in rows], ends, title)
    data: list[list[Cell]] = [
        [row.axiom, *_cells(row.difference), row.comparison.p, row.comparison.p_holm, row.difference.pairs]
        for row in rows
    ]
    caption = "To the right: DGRe obeys the axiom more often than BERT. Lines are 95% intervals over queries."
    return svg, caption, (["axiom", "difference", "low", "high", "p", "p (Holm)", "pairs"], data)


def heads_figure(found: HeadMaps) -> Figure:
    named = {GROUPS.get(title, title): one.heads for title, one in found.maps.items()}
    maps = {
        name: {(head.layer, head.head): head.share.value for head in heads if head.share.value is not None}
        for name, heads in named.items()
    }
    marked = {
        name: {(head.layer, head.head) for head in heads if head.significant == head.of > 0}
        for name, heads in named.items()
    }
    every = [(head.layer, head.head) for heads in named.values() for head in heads]
    layers, heads = (max(place[i] for place in every) + 1 for i in range(2))
    svg = heat_maps(
        maps, [str(i) for i in range(layers)], [str(i) for i in range(heads)], row_title="layer",
        column_title="head", value_title="share of the gap", marked=marked, end=robust_end(maps, marked),
    )  # fmt: skip
    caption = (
        f"Activation patching of every head, {found.axiom}, {found.pairs} pairs of test queries: the share "
        "of the gap between baseline and perturbed that a head recovers, the mean over the seeds whose gap is "
        "surely above 0. Dots: significant in each of these (Holm over the heads)."
    )
    rows: list[list[Cell]] = [
        [name, head.layer, head.head, head.share.value, head.significant, head.of]
        for name, some in named.items()
        for head in some
    ]
    return svg, caption, (["model", "layer", "head", "share", "significant in seeds", "seeds"], rows)


def attention_figure(found: AttentionCompared) -> Figure:
    layers = range(len(found.layers))
    curves = {
        GROUPS.get(title, title): [_cells(layer[title]) for layer in found.layers] for title in found.layers[0]
    }
    with drawing(6.4, 3.4) as figure:
        axes = bare(figure.subplots())
        for (name, points), colour in zip(curves.items(), SERIES, strict=False):
            _band(axes, name, points, colour)
        axes.axhline(found.means["uniform"].value or 0.0, color=QUIET, linestyle=":", label="uniform attention")
        axes.set_xticks(layers)
        axes.set_xlabel("layer")
        axes.set_ylabel("share on spurious relations")
        figure.legend(loc="outside lower center", ncols=4)
        svg = as_svg(figure)
    caption = (
        "The share of attention between query words and document words, all heads of a layer, that is on "
        f"spurious relations; {found.readings} readings of {found.queries} test queries; bands are 95% "
        "intervals. BERT's score does not depend on the last layer's. The axis does not begin at 0."
    )
    rows: list[list[Cell]] = [[name, layer, *points[layer]] for name, points in curves.items() for layer in layers]
    return svg, caption, (["model", "layer", "share", "low", "high"], rows)


def _band(axes: Axes, name: str, points: Sequence[Sequence[float | None]], colour: str) -> None:
    """A curve over the layers with its interval."""
    values, lows, highs = zip(*points, strict=True)
    axes.plot(range(len(points)), values, marker="o", markersize=3, color=colour, label=name)
    if None not in (*lows, *highs):
        axes.fill_between(range(len(points)), lows, highs, color=colour, alpha=0.15, linewidth=0)


def _cells(one: Estimate) -> list[float | None]:
    return [one.value, one.low, one.high]


def _or_nan(value: float | None) -> float:
    return float("nan") if value is None else value
