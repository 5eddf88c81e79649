"""The figures of a training: losses and the validation measure over the epochs, and the test means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from whyrank.learning.history import Epoch
from whyrank.learning.tables import Mean
from whyrank.plots.style import QUIET, SERIES, as_svg, bare, drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Panels side by side; more go below.
ACROSS = 3


@dataclass(frozen=True)
class Curve:
    """The epochs of one training; those of a group share a colour."""

    group: str
    history: Sequence[Epoch]
    chosen: int


def loss_curves(curves: Sequence[Curve], select: str, first_stage: Sequence[float] = ()) -> str:
    """One panel for the loss, one for each of its parts where it has several, and one for validation: one colour
    per group, one line per seed; `first_stage` is its validation measure for each group, dashed."""
    names = loss_names(curves)
    panels = ["loss", *(name for name in names if len(names) > 1), "validation"]
    across = min(ACROSS, len(panels))
    down = -(-len(panels) // across)
    with drawing(0.4 + 3.2 * across, 0.5 + 2.6 * down) as figure:
        places = figure.subplots(down, across, squeeze=False, sharex=True)
        for axes, panel in zip(places.flat, panels, strict=False):
            plot_curves(axes, curves, panel, select, first_stage)
        for axes in places.flat[len(panels) :]:
            axes.set_visible(False)
        _legend(figure, places.flat[0], _groups(curves))
        return as_svg(figure)


def plot_curves(
    axes: Axes, curves: Sequence[Curve], panel: str, select: str, first_stage: Sequence[float] = ()
) -> Axes:
    """One panel: `loss`, the name of one of its parts, or `validation`, with a ring at each chosen epoch."""
    groups = _groups(curves)
    for curve in curves:
        _curve(axes, curve, panel, _colour(groups.index(curve.group)))
    for number, value in enumerate(first_stage if panel == "validation" else ()):
        axes.axhline(value, color=_colour(number), linewidth=0.8, linestyle="--")
    title = {"loss": "training loss", "validation": f"validation {select}"}.get(panel, f"{panel} loss")
    bare(axes).set_title(title, loc="left")
    axes.set_xlabel("epoch")
    axes.tick_params(labelbottom=True)
    axes.locator_params(axis="x", integer=True)
    return axes


def loss_names(curves: Sequence[Curve]) -> list[str]:
    """The parts of the loss, in the order they come."""
    return list(dict.fromkeys(name for curve in curves for epoch in curve.history for name in epoch.losses or {}))


def value_of(epoch: Epoch, panel: str) -> float | None:
    """What a panel shows of an epoch."""
    shown = {"loss": epoch.loss, "validation": epoch.validation}
    return shown[panel] if panel in shown else (epoch.losses or {}).get(panel)


def means_figure(rows: Sequence[Mean], highlighted: Sequence[str], unnamed: Sequence[str] = ()) -> str:
    """One panel per measure: each row's mean with its interval; `unnamed` rows are grey."""
    measures = list(dict.fromkeys(row.measure for row in rows))
    names = list(dict.fromkeys(row.name for row in rows))
    with drawing(9.0, 0.9 + 0.3 * len(names)) as figure:
        columns = figure.subplots(1, len(measures), sharey=True, squeeze=False)[0]
        for axes, measure in zip(columns, measures, strict=True):
            plot_means(axes, [row for row in rows if row.measure == measure], highlighted, unnamed)
        columns[0].set_yticks(range(len(names)), names)
        return as_svg(figure)


def plot_means(
    axes: Axes, rows: Sequence[Mean], highlighted: Sequence[str] = (), unnamed: Sequence[str] = ()
) -> Axes:
    """The means of one measure, with intervals and a small mark for each seed."""
    for place, row in enumerate(rows):
        colour = QUIET if row.name in unnamed else SERIES[0 if row.name in highlighted else 1]
        if row.mean.interval:
            axes.plot([row.mean.interval.low, row.mean.interval.high], [place, place], color=colour, linewidth=2)
        if len(row.by_seed) > 1:
            axes.plot(row.by_seed, [place + 0.2] * len(row.by_seed), "|", color=QUIET, markersize=6)
        axes.plot([row.mean.value or 0.0], [place], "o", color=colour, markersize=5)
    bare(axes).set_title(f"test {rows[0].measure}", loc="left")
    axes.set_yticks(range(len(rows)), [row.name for row in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    return axes


def _curve(axes: Axes, curve: Curve, panel: str, colour: str) -> None:
    points = [(epoch.epoch, value_of(epoch, panel)) for epoch in curve.history]
    points = [point for point in points if point[1] is not None]
    if points:
        axes.plot(*zip(*points, strict=True), color=colour, linewidth=1.1, marker=".", markersize=3)
    if panel == "validation":
        chosen = curve.history[curve.chosen]
        axes.plot([chosen.epoch], [chosen.validation], "o", color=colour, fillstyle="none", markersize=8)


def _legend(figure: Figure, axes: Axes, groups: Sequence[str]) -> None:
    for number, group in enumerate(groups):
        axes.plot([], [], color=_colour(number), label=group)
    figure.legend(loc="outside lower right", ncols=len(groups))


def _groups(curves: Sequence[Curve]) -> list[str]:
    return list(dict.fromkeys(curve.group for curve in curves))


def _colour(group: int) -> str:
    return SERIES[group % len(SERIES)]
