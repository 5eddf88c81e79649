"""Maps of effects: layer x head, layer x category, site x category."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import median_low
from typing import TYPE_CHECKING, Any

from whyrank.plots.bars import interval_bars as interval_bars
from whyrank.plots.scatter import scatter as scatter
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
    """Maps on one scale; cells that are `marked` (significant) have a dot, missing ones are grey. Colours end at
    `end`, or at the largest value; values that are never negative go `one_way`. A cell is so many inches wide."""
    largest = end or _largest(panels.values()) or 1.0
    beyond = _largest(panels.values()) > largest
    width = max(2.6, cell * len(columns) + 1.2)
    across = max(1, min(len(panels), int(WIDEST // width)))
    down = -(-len(panels) // across)
    height = max(2.2, 0.9 * cell * len(rows) + 1.1)
    with drawing(width * across + 0.9, height * down) as figure:
        places = figure.subplots(down, across, squeeze=False, sharey=True)
        drawn: Any = None
        for place, (name, cells) in zip(places.flat, panels.items(), strict=False):
            drawn = _panel(place, cells, len(rows), len(columns), largest, one_way)
            _dots(place, cells, (marked or {}).get(name, set()), largest)
            _name_columns(place, columns, column_title)
            place.set_title(name, loc="left")
        for place in places[:, 0]:
            place.set_yticks(range(len(rows)), rows)
            place.set_ylabel(row_title)
        for place in places.flat[len(panels) :]:
            place.set_visible(False)
        extend = ("max" if one_way else "both") if beyond else "neither"
        figure.colorbar(drawn, ax=list(places.flat), label=value_title, shrink=0.8, pad=0.01, extend=extend)
        return as_svg(figure)


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


def _dots(axes: Axes, cells: Cells, marked: set[tuple[int, int]], largest: float) -> None:
    for row, column in marked:
        dark = abs(cells.get((row, column), 0.0)) > 0.6 * largest
        axes.plot(column, row, marker=".", markersize=3, color="white" if dark else INK)


def _name_columns(axes: Axes, columns: Sequence[str], title: str) -> None:
    turned = max(map(len, columns), default=0) > 2
    angle, side = (45, "right") if turned else (0, "center")
    axes.set_xticks(range(len(columns)), columns, rotation=angle, ha=side)
    axes.set_xlabel(title)


def _panel(axes: Axes, cells: Cells, rows: int, columns: int, largest: float, one_way: bool) -> Any:
    import numpy as np
    from matplotlib import colormaps

    values = np.full((rows, columns), math.nan)
    for (row, column), value in cells.items():
        values[row, column] = value
    colours = colormaps[ONE_WAY if one_way else COLOURS].with_extremes(bad=MISSING)
    least = 0.0 if one_way else -largest
    drawn = axes.imshow(np.ma.masked_invalid(values), cmap=colours, vmin=least, vmax=largest, aspect="auto")
    axes.tick_params(length=0)
    for side in axes.spines.values():
        side.set_visible(False)
    return drawn
