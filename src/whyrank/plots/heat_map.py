"""Maps of effects: layer x head, layer x category, site x category."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from statistics import median_low
from typing import TYPE_CHECKING, Any, NamedTuple

from whyrank.plots.style import INK, as_svg, drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Blue lowers the score, red raises it; white is nothing, grey is missing. Quantities that are never below 0 go
#: from white to blue.
COLOURS, ONE_WAY, MISSING = "RdBu_r", "Blues", "#d4d8dc"
#: Inches that panels may take side by side; more of them go below.
WIDEST = 11.0
Cells = Mapping[tuple[int, int], float]
Marked = Mapping[str, set[tuple[int, int]]]


def heat_maps(
    panels: Mapping[str, Cells],
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    row_title: str,
    column_title: str,
    value_title: str,
    marked: Marked | None = None,
    end: float | None = None,
    one_way: bool = False,
    cell: float = 0.34,
) -> str:
    """Maps on one scale, as SVG; see `draw_heat_map`. A cell is so many inches wide."""
    scale = Scale(end or _largest(panels.values()) or 1.0, one_way)
    width, height = max(2.6, cell * len(columns) + 1.2), max(2.2, 0.9 * cell * len(rows) + 1.1)
    across = max(1, min(len(panels), int(WIDEST // width)))
    down = -(-len(panels) // across)
    with drawing(width * across + 0.9, height * down) as figure:
        places = figure.subplots(down, across, squeeze=False, sharey=True)
        drawn: Any = None
        for place, (name, cells) in zip(places.flat, panels.items(), strict=False):
            drawn = _map(place, cells, len(rows), columns, scale, (marked or {}).get(name, set()))
            place.set_xlabel(column_title)
            place.set_title(name, loc="left")
        for place in places[:, 0]:
            place.set_yticks(range(len(rows)), rows)
            place.set_ylabel(row_title)
        for place in places.flat[len(panels) :]:
            place.set_visible(False)
        extend = scale.beyond(_largest(panels.values()))
        figure.colorbar(drawn, ax=list(places.flat), label=value_title, shrink=0.8, pad=0.01, extend=extend)
        return as_svg(figure)


def draw_heat_map(
    axes: Axes,
    cells: Cells,
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    row_title: str,
    column_title: str,
    value_title: str,
    marked: AbstractSet[tuple[int, int]] = frozenset(),
    end: float | None = None,
    one_way: bool = False,
) -> Axes:
    """A map with its scale; cells that are `marked` (significant) have a dot, missing ones are grey. Colours end
    at `end`, or at the largest value; values that are never negative go `one_way`."""
    scale = Scale(end or _largest([cells]) or 1.0, one_way)
    drawn = _map(axes, cells, len(rows), columns, scale, marked)
    axes.set_yticks(range(len(rows)), rows)
    axes.set_xlabel(column_title)
    axes.set_ylabel(row_title)
    extend = scale.beyond(_largest([cells]))
    axes.figure.colorbar(drawn, ax=axes, label=value_title, shrink=0.8, pad=0.01, extend=extend)
    return axes


class Scale(NamedTuple):
    """Where colours end, and whether they begin at 0."""

    end: float
    one_way: bool

    def beyond(self, largest: float) -> str:
        """On which sides values lie beyond it."""
        return "neither" if largest <= self.end else "max" if self.one_way else "both"


def robust_end(panels: Mapping[str, Cells], marked: Marked) -> float:
    """Where colours may end so that one noisy panel does not bleach the others: twice the (low) median of the
    panels' largest values (of marked ones, where a panel has some), never beyond the largest of all; one panel is
    not cut."""
    if len(panels) == 1:
        return _largest(panels.values()) or 1.0
    tops = [
        _largest([_only(cells, marked.get(name, set()))]) or _largest([cells]) for name, cells in panels.items()
    ]
    return min(_largest(panels.values()), 2 * median_low(tops or [0.0])) or 1.0


def _largest(panels: Any) -> float:
    return max((abs(value) for cells in panels for value in cells.values()), default=0.0)


def _only(cells: Cells, places: set[tuple[int, int]]) -> Cells:
    return {place: value for place, value in cells.items() if place in places}


def _map(
    axes: Axes,
    cells: Cells,
    rows: int,
    columns: Sequence[str],
    scale: Scale,
    marked: AbstractSet[tuple[int, int]],
) -> Any:
    """The map itself, which its scale is drawn from."""
    import numpy as np
    from matplotlib import colormaps

    values = np.full((rows, len(columns)), math.nan)
    for place, value in cells.items():
        values[place] = value
    colours = colormaps[ONE_WAY if scale.one_way else COLOURS].with_extremes(bad=MISSING)
    least = 0.0 if scale.one_way else -scale.end
    drawn = axes.imshow(np.ma.masked_invalid(values), cmap=colours, vmin=least, vmax=scale.end, aspect="auto")
    axes.tick_params(length=0)
    for side in axes.spines.values():
        side.set_visible(False)
    for row, column in marked:
        dark = abs(cells.get((row, column), 0.0)) > 0.6 * scale.end
        axes.plot(column, row, marker=".", markersize=3, color="white" if dark else INK)
    turned = max(map(len, columns), default=0) > 2
    axes.set_xticks(range(len(columns)), columns, rotation=45 if turned else 0, ha="right" if turned else "center")
    return drawn
