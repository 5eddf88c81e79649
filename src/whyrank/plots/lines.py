"""Curves with their intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import TYPE_CHECKING, NamedTuple

from whyrank.plots.style import QUIET, SERIES, WIDTH, as_svg, bare, drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Panels side by side; more go below.
ACROSS = 3
#: Letters of a legend that fit side by side an inch; its lines and gaps take as much room as so many letters.
LETTERS, HANDLE = 13, 7
#: Letters of an axis's title that fit on one line.
TITLE = 30
#: When colours begin again, lines are of another kind.
KINDS = ("-", "--", ":")


class Point(NamedTuple):
    """A point of a curve and its interval, if it has one."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None


Curves = Mapping[str, Sequence[Point]]


def line_plots(
    panels: Mapping[str, Curves],
    x_title: str,
    y_title: str,
    *,
    log_x: bool = False,
    thin: Mapping[str, Curves] | None = None,
) -> str:
    """Panels, each with its curves; a band is the interval. `thin`: curves of the same names (fits) as thin
    lines."""
    across = min(ACROSS, len(panels))
    down = -(-len(panels) // across)
    width, height = (WIDTH, 3.4) if len(panels) == 1 else (0.6 + 3.6 * across, 0.4 + 2.7 * down)
    with drawing(width, height) as figure:
        places = figure.subplots(down, across, squeeze=False)
        names = list(dict.fromkeys(name for curves in panels.values() for name in curves))
        for axes, (title, curves) in zip(places.flat, panels.items(), strict=False):
            fits = (thin or {}).get(title, {})
            draw_lines(axes, curves, x_title, title=title, log_x=log_x, thin=fits, names=names)
        for axes in places[:, 0]:
            axes.set_ylabel(fill(y_title, TITLE))
        for axes in places.flat[len(panels) :]:
            axes.set_visible(False)
        handles = {h.get_label(): h for axes in places.flat for h in axes.get_legend_handles_labels()[0]}
        fitting = _fitting(list(handles), figure.get_figwidth())
        figure.legend(list(handles.values()), list(handles), loc="outside lower center", ncols=fitting)
        return as_svg(figure)


def draw_lines(
    axes: Axes,
    curves: Curves,
    x_title: str,
    y_title: str = "",
    *,
    title: str = "",
    log_x: bool = False,
    thin: Curves | None = None,
    names: Sequence[str] = (),
) -> Axes:
    """Curves with their bands; the colours go by the order of `names`, of these curves unless given."""
    order = names or list(curves)
    for name, points in curves.items():
        _curve(axes, name, points, (thin or {}).get(name, ()), order.index(name))
    whole = all(float(point.x).is_integer() for points in curves.values() for point in points)
    _dress(axes, title, x_title, log_x, whole)
    axes.set_ylabel(fill(y_title, TITLE))
    return axes


def _fitting(labels: Sequence[str], inches: float) -> int:
    """Columns of a legend that is no wider than its figure."""
    longest = max((len(label) for label in labels), default=0)
    return max(1, min(len(labels), int(LETTERS * inches) // (longest + HANDLE)))


def _curve(axes: Axes, name: str, points: Sequence[Point], thin: Sequence[Point], number: int) -> None:
    colour, kind = SERIES[number % len(SERIES)], KINDS[number // len(SERIES) % len(KINDS)]
    axes.plot(
        [p.x for p in points], [p.y for p in points], kind, marker="o", markersize=3, color=colour, label=name
    )
    if thin:
        axes.plot([p.x for p in thin], [p.y for p in thin], color=colour, linewidth=0.6)
    banded = [(p.x, p.low, p.high) for p in points if p.low is not None and p.high is not None]
    xs, lows, highs = zip(*banded, strict=True) if banded else ((), (), ())
    axes.fill_between(xs, lows, highs, color=colour, alpha=0.15, linewidth=0)


def _dress(axes: Axes, title: str, x_title: str, log_x: bool, whole_x: bool) -> None:
    from matplotlib.ticker import MaxNLocator, NullFormatter

    bare(axes)
    axes.axhline(0, color=QUIET, linewidth=0.6)
    axes.set_title(title, loc="left")
    axes.set_xlabel(x_title)
    if log_x:
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:g}")
        axes.xaxis.set_minor_formatter(NullFormatter())
    elif whole_x:
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
