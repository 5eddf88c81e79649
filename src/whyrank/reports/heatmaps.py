"""Maps of effects: layer x head, layer x category, site x category, and bars with intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from whyrank.reports.style import INK, QUIET, SERIES, as_svg, bare, drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Blue lowers the score, red raises it; white is nothing, grey is missing.
COLOURS, MISSING = "RdBu_r", "#d4d8dc"
Cells = Mapping[tuple[int, int], float]


def heat_maps(
    panels: Mapping[str, Cells],
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    row_title: str,
    column_title: str,
    value_title: str,
    marked: Mapping[str, set[tuple[int, int]]] | None = None,
) -> str:
    """Maps side by side on one scale; cells that are `marked` (significant) have a dot, missing ones are grey."""
    largest = max((abs(value) for cells in panels.values() for value in cells.values()), default=1.0) or 1.0
    width = max(2.6, 0.34 * len(columns) + 1.2)
    with drawing(width * len(panels) + 0.9, max(2.2, 0.3 * len(rows) + 1.1)) as figure:
        axes = figure.subplots(1, len(panels), squeeze=False, sharey=True)[0]
        drawn: Any = None
        for place, (name, cells) in zip(axes, panels.items(), strict=True):
            drawn = _panel(place, cells, len(rows), len(columns), largest)
            for row, column in (marked or {}).get(name, ()):
                dark = abs(cells.get((row, column), 0.0)) > 0.6 * largest
                place.plot(column, row, marker=".", markersize=3, color="white" if dark else INK)
            turned = max(map(len, columns), default=0) > 2
            place.set_xticks(
                range(len(columns)), columns, rotation=45 if turned else 0, ha="right" if turned else "center"
            )
            place.set_xlabel(column_title)
            place.set_title(name, loc="left")
        axes[0].set_yticks(range(len(rows)), rows)
        axes[0].set_ylabel(row_title)
        figure.colorbar(drawn, ax=list(axes), label=value_title, shrink=0.8, pad=0.01)
        return as_svg(figure)


def _panel(axes: Axes, cells: Cells, rows: int, columns: int, largest: float) -> Any:
    import numpy as np
    from matplotlib import colormaps

    values = np.full((rows, columns), math.nan)
    for (row, column), value in cells.items():
        values[row, column] = value
    colours = colormaps[COLOURS].with_extremes(bad=MISSING)
    drawn = axes.imshow(np.ma.masked_invalid(values), cmap=colours, vmin=-largest, vmax=largest, aspect="auto")
    axes.tick_params(length=0)
    for side in axes.spines.values():
        side.set_visible(False)
    return drawn


def interval_bars(
    names: Sequence[str], values: Sequence[float], ends: Sequence[tuple[float, float]], title: str
) -> str:
    """A bar a site, the first at the top, with its interval."""
    with drawing(7.2, 0.7 + 0.26 * len(names)) as figure:
        axes = bare(figure.subplots())
        places = range(len(names))
        axes.barh(places, values, color=SERIES[0], height=0.66)
        for place, (low, high) in zip(places, ends, strict=True):
            if math.isfinite(low) and math.isfinite(high):
                axes.plot([low, high], [place, place], color=INK, linewidth=1)
        axes.axvline(0, color=QUIET, linewidth=0.6)
        axes.set_yticks(places, names)
        axes.invert_yaxis()
        axes.set_xlabel(title)
        return as_svg(figure)


def scatter(points: Sequence[tuple[str, float, float]], x_title: str, y_title: str, named: int = 8) -> str:
    """A dot a site, the farthest out named, and the line on which both are equal."""
    some = [(name, x, y) for name, x, y in points if math.isfinite(x) and math.isfinite(y)]
    with drawing(4.6, 4.2) as figure:
        axes = bare(figure.subplots())
        axes.plot(
            [x for _, x, _ in some], [y for _, _, y in some], "o", markersize=3.5, color=SERIES[0], alpha=0.7
        )
        ends = [value for _, x, y in some for value in (x, y)] or [0.0, 1.0]
        axes.plot([min(ends), max(ends)], [min(ends), max(ends)], color=QUIET, linewidth=0.7, linestyle=":")
        for name, x, y in sorted(some, key=lambda point: -abs(point[1]) - abs(point[2]))[:named]:
            axes.annotate(name, (x, y), fontsize=7, xytext=(3, 3), textcoords="offset points", color=INK)
        axes.set_xlabel(x_title)
        axes.set_ylabel(y_title)
        return as_svg(figure)
