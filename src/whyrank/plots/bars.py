"""Bars: values with their intervals, and shares that make up a whole."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from whyrank.plots.style import INK, QUIET, SERIES, bare, svg_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Letters of a name in a figure, which leave room for the bars.
LONGEST_NAME = 40


def interval_bars(
    names: Sequence[str], values: Sequence[float], ends: Sequence[tuple[float, float]], title: str
) -> str:
    """`draw_bars` as SVG."""
    return svg_of(lambda axes: draw_bars(axes, names, values, ends, title), 0.7 + 0.26 * len(names))


def draw_bars(
    axes: Axes, names: Sequence[str], values: Sequence[float], ends: Sequence[tuple[float, float]], title: str
) -> Axes:
    """One bar per name with its interval, the first at the top; `title` says what the values are."""
    bare(axes).barh(range(len(names)), values, color=SERIES[0], height=0.66)
    for place, (low, high) in enumerate(ends):
        if math.isfinite(low) and math.isfinite(high):
            axes.plot([low, high], [place, place], color=INK, linewidth=1)
    axes.axvline(0, color=QUIET, linewidth=0.6)
    axes.set_xlabel(title)
    return _named(axes, names)


def draw_shares(axes: Axes, names: Sequence[str], parts: Mapping[str, tuple[str, Sequence[float]]]) -> Axes:
    """One bar per name, the first at the top, made up of parts: by part its colour and its share in each bar."""
    left = [0.0] * len(names)
    for part, (colour, shares) in parts.items():
        bare(axes).barh(range(len(names)), shares, left=left, color=colour, height=0.7, label=part)
        left = [start + share for start, share in zip(left, shares, strict=True)]
    axes.set_xlim(0, 1)
    axes.set_xticks([0, 0.5, 1], ["0%", "50%", "100%"])
    first, _, last = axes.get_xticklabels()
    first.set_horizontalalignment("left")  # so that labels of bars side by side do not touch
    last.set_horizontalalignment("right")
    return _named(axes, names)


def short(name: str) -> str:
    """A name that leaves room for what is drawn."""
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"


def _named(axes: Axes, names: Sequence[str]) -> Axes:
    axes.set_yticks(range(len(names)), [short(name) for name in names])
    axes.set_ylim(len(names) - 0.5, -0.5)
    return axes
