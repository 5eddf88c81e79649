"""Curves with their intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from whyrank.reports.style import QUIET, SERIES, as_svg, bare, drawing


class Point(NamedTuple):
    """A point of a curve and its interval, if it has one."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None


def line_plots(
    panels: Mapping[str, Mapping[str, Sequence[Point]]], x_title: str, y_title: str, *, log_x: bool = False
) -> str:
    """Panels side by side, each with its curves; a band is the interval."""
    with drawing(0.6 + 3.6 * len(panels), 3.1) as figure:
        places = figure.subplots(1, len(panels), squeeze=False)[0]
        names = list(dict.fromkeys(name for curves in panels.values() for name in curves))
        colours = {name: SERIES[i % len(SERIES)] for i, name in enumerate(names)}
        for axes, (title, curves) in zip(places, panels.items(), strict=True):
            bare(axes)
            for name, points in curves.items():
                xs = [point.x for point in points]
                axes.plot(xs, [p.y for p in points], marker="o", markersize=3, color=colours[name], label=name)
                banded = [p for p in points if p.low is not None and p.high is not None]
                axes.fill_between(
                    [p.x for p in banded], [p.low for p in banded], [p.high for p in banded],
                    color=colours[name], alpha=0.15, linewidth=0,
                )  # fmt: skip
            axes.axhline(0, color=QUIET, linewidth=0.6)
            axes.set_title(title, loc="left")
            axes.set_xlabel(x_title)
            if log_x:
                axes.set_xscale("log")
        places[0].set_ylabel(y_title)
        handles = {h.get_label(): h for axes in places for h in axes.get_legend_handles_labels()[0]}
        figure.legend(
            list(handles.values()), list(handles), loc="outside lower center", ncols=min(4, len(handles))
        )
        return as_svg(figure)
