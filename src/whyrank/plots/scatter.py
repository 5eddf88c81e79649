"""Points: one value against another."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from whyrank.plots.style import INK, QUIET, SERIES, bare, svg_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: A name and its two values.
Point = tuple[str, float, float]


def scatter(points: Sequence[Point], x_title: str, y_title: str, named: int = 8) -> str:
    """`draw_scatter` as SVG."""
    return svg_of(lambda axes: draw_scatter(axes, points, x_title, y_title, named), 4.6, 5.2)


def draw_scatter(axes: Axes, points: Sequence[Point], x_title: str, y_title: str, named: int = 8) -> Axes:
    """One dot per point, the `named` farthest out with names, and the line on which both values are equal."""
    finite = [(name, x, y) for name, x, y in points if math.isfinite(x) and math.isfinite(y)]
    xs, ys = [x for _, x, _ in finite], [y for _, _, y in finite]
    bare(axes).plot(xs, ys, "o", markersize=3.5, color=SERIES[0], alpha=0.7)
    ends = [*xs, *ys] or [0.0, 1.0]
    axes.plot([min(ends), max(ends)], [min(ends), max(ends)], color=QUIET, linewidth=0.7, linestyle=":")
    for name, x, y in sorted(finite, key=lambda point: -abs(point[1]) - abs(point[2]))[:named]:
        axes.annotate(name, (x, y), fontsize=8, xytext=(3, 3), textcoords="offset points", color=INK)
    axes.set_xlabel(x_title)
    axes.set_ylabel(y_title)
    return axes
