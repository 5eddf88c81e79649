"""The drawing of a circuit: embeddings at the bottom, logits at the top, heads by layer, edges by their effect."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from whyrank.circuits.results import EMBED, LOGITS, ROLES, Circuit
from whyrank.encoders.site import short_name
from whyrank.plots.graph import Edge, Node, draw_graph
from whyrank.plots.style import INK, NEUTRAL, QUIET, SERIES, as_svg, drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROLE_COLOURS = dict(zip(ROLES, SERIES, strict=False))
PART_STYLES = {"v": "-", "q": "--", "k": ":", None: "-"}
Place = tuple[float, float]


def draw_circuit(axes: Axes, circuit: Circuit) -> Axes:
    """Nodes are heads, coloured by role; an edge goes from a sender to each head of the set it was sent to, its
    width by the share of the gap (of the whole set), solid for values, dashed for queries, dotted for keys."""
    roles = {one.head: one.role for one in circuit.heads}
    nodes = {
        name: Node(x, y, short_name(name), ROLE_COLOURS.get(roles.get(name, ""), NEUTRAL), _ink(name in roles))
        for name, (x, y) in _places(list(roles)).items()
    }
    edges = [
        Edge(nodes[edge.sender], nodes[receiver], edge.share.value or 0.0, PART_STYLES[edge.part])
        for edge in circuit.kept()
        if edge.sender in nodes
        for receiver in edge.receivers
        if receiver in nodes and nodes[receiver].y > nodes[edge.sender].y
    ]
    largest = max((abs(edge.share.value or 0.0) for edge in circuit.kept() if edge.sender != EMBED), default=1.0)
    draw_graph(axes, list(nodes.values()), edges, largest)
    _legend(axes, set(roles.values()))
    layers = sorted({int(node.y) for name, node in nodes.items() if name in roles})
    axes.set_yticks(layers, [f"layer {layer}" for layer in layers])
    axes.set_xticks([])
    return axes


def circuit_graph(circuit: Circuit) -> str:
    """The same as SVG."""
    with drawing(8.2, 6.4) as figure:
        draw_circuit(figure.subplots(), circuit)
        return as_svg(figure)


def _ink(is_head: bool) -> str:
    return "white" if is_head else INK


def _places(heads: list[str]) -> dict[str, Place]:
    """Each layer a row; the logits above the last, the embeddings below the first."""
    rows: defaultdict[int, list[str]] = defaultdict(list)
    for name in heads:
        rows[int(name[1:].split(".")[0])].append(name)
    top = max(rows, default=0)
    places = {EMBED: (0.0, min(rows, default=0) - 1.0), LOGITS: (0.0, top + 1.0)}
    for layer, names in rows.items():
        ordered = sorted(names, key=lambda name: int(name.split("H")[1]))
        for i, name in enumerate(ordered):
            shift = 0.25 if layer % 2 else -0.25
            places[name] = (i - (len(ordered) - 1) / 2 + shift, float(layer))
    return places


def _legend(axes: Axes, roles: set[str]) -> None:
    for role, colour in ROLE_COLOURS.items():
        if role in roles:
            axes.plot([], [], "o", color=colour, label=role)
    for part, label in (("v", "to values"), ("q", "to queries"), ("k", "to keys")):
        axes.plot([], [], PART_STYLES[part], color=QUIET, label=label)
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
