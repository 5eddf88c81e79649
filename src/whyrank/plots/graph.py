"""A graph: named nodes at their places, and arrows between them as strong as their values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from whyrank.plots.style import BAD, INK, SERIES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: What a positive and a negative value look like.
RAISES, LOWERS = BAD, SERIES[0]


class Node(NamedTuple):
    """A disc with its label."""

    x: float
    y: float
    label: str
    colour: str
    ink: str = INK


class Edge(NamedTuple):
    """An arrow; `line` is its style, as matplotlib has it."""

    start: Node
    end: Node
    value: float
    line: str = "-"


def draw_graph(axes: Axes, nodes: Sequence[Node], edges: Sequence[Edge], largest: float | None = None) -> Axes:
    """Arrows are as wide as their value's share of the `largest`, which is that of all edges unless given."""
    top = largest or max((abs(edge.value) for edge in edges), default=1.0) or 1.0
    for edge in edges:
        _arrow(axes, edge, min(1.0, abs(edge.value) / top))
    for node in nodes:
        axes.plot([node.x], [node.y], "o", markersize=19, color=node.colour, mec=INK, mew=0.6, zorder=3)
        place = (node.x, node.y)
        axes.annotate(node.label, place, ha="center", va="center", fontsize=6.5, zorder=4, color=node.ink)
    axes.margins(0.12, 0.06)
    axes.tick_params(length=0)
    for side in ("top", "right", "bottom", "left"):
        axes.spines[side].set_visible(False)
    return axes


def _arrow(axes: Axes, edge: Edge, strength: float) -> None:
    axes.annotate(
        "", xy=(edge.end.x, edge.end.y), xytext=(edge.start.x, edge.start.y), zorder=1,
        arrowprops={
            "arrowstyle": "-|>", "linestyle": edge.line, "shrinkA": 9, "shrinkB": 10,
            "color": RAISES if edge.value > 0 else LOWERS, "linewidth": 0.4 + 2.2 * strength,
            "alpha": 0.25 + 0.6 * strength, "mutation_scale": 7,
        },
    )  # fmt: skip
