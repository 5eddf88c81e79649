"""The drawing of a circuit: embeddings at the bottom, logits at the top, heads by layer, edges by their effect."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from whyrank.circuits.results import EMBED, LOGITS, OTHER, ROLES, Circuit, Edge
from whyrank.encoders.site import short_name
from whyrank.plots.style import INK, NEUTRAL, QUIET, SERIES, as_svg, drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROLE_COLOURS = dict(zip(ROLES, SERIES, strict=False))
PART_STYLES = {"v": "-", "q": "--", "k": ":", None: "-"}
Place = tuple[float, float]


def draw_circuit(axes: Axes, circuit: Circuit) -> Axes:
    """Nodes are heads, coloured by role; an edge goes from a sender to each head of the set it was sent to, its
    width by the share of the gap (of the whole set), solid for values, dashed for queries, dotted for keys."""
    roles = {one.head: one.role or OTHER for one in circuit.heads}
    places = _places(list(roles))
    largest = max((abs(_share(edge)) for edge in circuit.kept() if edge.sender != EMBED), default=1.0)
    for edge in circuit.kept():
        for receiver in edge.receivers:
            if receiver in places and places[receiver][1] > places[edge.sender][1]:
                _arrow(axes, places[edge.sender], places[receiver], edge, largest)
    for name, (x, y) in places.items():
        colour = ROLE_COLOURS.get(roles.get(name, ""), NEUTRAL)
        axes.plot([x], [y], "o", markersize=19, color=colour, mec=INK, mew=0.6, zorder=3)
        ink = "white" if name in roles else INK
        axes.annotate(short_name(name), (x, y), ha="center", va="center", fontsize=6.5, zorder=4, color=ink)
    _legend(axes, set(roles.values()))
    _frame(axes, places)
    return axes


def circuit_graph(circuit: Circuit) -> str:
    """The same as SVG."""
    with drawing(8.2, 6.4) as figure:
        draw_circuit(figure.subplots(), circuit)
        return as_svg(figure)


def _share(edge: Edge) -> float:
    return edge.share.value or 0.0


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


def _arrow(axes: Axes, start: Place, end: Place, edge: Edge, largest: float) -> None:
    strength = min(1.0, abs(_share(edge)) / largest)
    axes.annotate(
        "", xy=end, xytext=start, zorder=1,
        arrowprops={
            "arrowstyle": "-|>", "linestyle": PART_STYLES[edge.part], "shrinkA": 9, "shrinkB": 10,
            "color": "#b3423a" if _share(edge) > 0 else "#14608a", "linewidth": 0.4 + 2.2 * strength,
            "alpha": 0.25 + 0.6 * strength, "mutation_scale": 7,
        },
    )  # fmt: skip


def _legend(axes: Axes, roles: set[str]) -> None:
    for role, colour in ROLE_COLOURS.items():
        if role in roles:
            axes.plot([], [], "o", color=colour, label=role)
    for part, label in (("v", "to values"), ("q", "to queries"), ("k", "to keys")):
        axes.plot([], [], PART_STYLES[part], color=QUIET, label=label)
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))


def _frame(axes: Axes, places: dict[str, Place]) -> None:
    layers = sorted({int(y) for name, (_, y) in places.items() if name not in (EMBED, LOGITS)})
    axes.set_yticks(layers, [f"layer {layer}" for layer in layers])
    axes.set_xticks([])
    axes.margins(0.12, 0.06)
    for side in ("top", "right", "bottom", "left"):
        axes.spines[side].set_visible(False)
    axes.tick_params(length=0)
