"""Plots draw on the axes they are given, and return them; the same drawing is the same SVG."""

import pytest

from whyrank.plots.bars import draw_bars, draw_shares
from whyrank.plots.graph import Edge, Node, draw_graph
from whyrank.plots.heat_map import draw_heat_map
from whyrank.plots.lines import Point, draw_lines
from whyrank.plots.marked_text import draw_marked_text
from whyrank.plots.scatter import draw_scatter
from whyrank.plots.style import GOOD, new_axes, svg_of

NODES = [Node(0, 0, "1.1", GOOD), Node(1, 1, "2.1", GOOD)]
MAP = {"row_title": "layer", "column_title": "head", "value_title": "share of the gap"}
DRAWINGS = {
    "bars": lambda axes: draw_bars(axes, ["a", "b"], [1.0, -1.0], [(0.5, 1.5), (-2.0, float("nan"))], "share"),
    "shares": lambda axes: draw_shares(axes, ["a"], {"holds": (GOOD, [0.9])}),
    "graph": lambda axes: draw_graph(axes, NODES, [Edge(*NODES, 0.5)]),
    "heat map": lambda axes: draw_heat_map(axes, {(0, 1): 0.5}, ["0"], ["0", "1"], marked={(0, 1)}, **MAP),
    "lines": lambda axes: draw_lines(axes, {"bm25": [Point(1, 0.5, 0.4, 0.6), Point(2, 0.7)]}, "k", "difference"),
    "marked text": lambda axes: draw_marked_text(axes, [("a", 0.5), ("cat", -1.0)]),
    "scatter": lambda axes: draw_scatter(axes, [("L1.H1", 0.1, 0.2)], "one", "other"),
}


@pytest.mark.parametrize("name", DRAWINGS)
def test_axes_in_axes_out(name):
    axes = new_axes(4.0, 3.0)
    assert DRAWINGS[name](axes) is axes and axes.get_figure() is not None
    assert svg_of(DRAWINGS[name], 3.0) == svg_of(DRAWINGS[name], 3.0)


def test_where_a_font_is_missing_another_draws_the_text():
    assert "'DejaVu Sans', Verdana, sans-serif" in svg_of(DRAWINGS["bars"], 3.0)
