"""The curves as figures, each with its caption and the data behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from whyrank.circuits.curves.results import (
    ATTRIBUTION,
    BASELINE,
    EDGES,
    HEADS,
    HEADS_AND_MLPS,
    FaithfulnessCurves,
    SizeCurve,
)
from whyrank.core.names import plain_name
from whyrank.pages.page import Cell, Figure, Figures
from whyrank.plots.lines import Point, line_plots

COLUMNS = ("nodes", "order", "the rest held at", "size", "share", "low", "high", "least", "most")


def curve_figures(found: Mapping[str, FaithfulnessCurves]) -> Figures:
    """For each set of pairs the curves over nodes, and over edges."""
    figures: Figures = {}
    for name, one in found.items():
        figures[f"curve-nodes-{plain_name(name)}"] = _nodes(name, one)
        if any(curve.nodes == EDGES for curve in one.curves):
            figures[f"curve-edges-{plain_name(name)}"] = _edges(name, one)
    return figures


def _nodes(name: str, found: FaithfulnessCurves) -> Figure:
    by_order = {
        "heads by order": [one for one in found.curves if (one.nodes, one.held) == (HEADS, BASELINE)],
        "heads and MLPs by order": [one for one in found.curves if one.nodes == HEADS_AND_MLPS],
    }
    panels = {title: {one.order: _points(one) for one in some} for title, some in by_order.items() if some}
    held = [one for one in found.curves if (one.nodes, one.order) == (HEADS, ATTRIBUTION)]
    panels["heads by what the rest holds"] = {f"rest: {one.held}": _points(one) for one in held}
    caption = (
        f"{name}: the share of the gap that the first heads (or heads and MLPs) of an order keep alone, the rest "
        f"held at the pair's baseline; on the right also at a mean or another pair's values. Bands: 95% intervals "
        f"over queries. {_on(found)}"
    )
    return (
        line_plots(panels, "size", "share of the gap"),
        caption,
        (COLUMNS, _rows(found, (HEADS, HEADS_AND_MLPS))),
    )


def _edges(name: str, found: FaithfulnessCurves) -> Figure:
    curves = {one.order: _points(one)[1:] for one in found.curves if one.nodes == EDGES}
    caption = (
        f"{name}: the share of the gap that the first edges of an order keep, all others held at the pair's "
        f"baseline ({found.edge_pairs} pairs); an edge leads from the embeddings, a head or an MLP to a head's "
        "query, key or value, an MLP or the logits."
    )
    svg = line_plots({"edges": curves}, "number of edges", "share of the gap", log_x=True)
    return svg, caption, (COLUMNS, _rows(found, (EDGES,)))


def _on(found: FaithfulnessCurves) -> str:
    whose = "of queries that had no part in the search" if found.held_out else "of the search itself"
    return f"{found.pairs} pairs of {found.queries} queries, {whose}."


def _points(curve: SizeCurve) -> list[Point]:
    return [
        Point(
            one.size, float("nan") if one.share.value is None else one.share.value, one.share.low, one.share.high
        )
        for one in curve.points
    ]


def _rows(found: FaithfulnessCurves, nodes: Sequence[str]) -> list[list[Cell]]:
    return [
        [one.nodes, one.order, one.held, p.size, p.share.value, p.share.low, p.share.high, p.least, p.most]
        for one in found.curves
        if one.nodes in nodes
        for p in one.points
    ]
