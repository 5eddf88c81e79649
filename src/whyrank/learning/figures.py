"""The figures of a training: its losses and the validation measure over the epochs, and the test means."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from whyrank.plots.style import QUIET, SERIES, as_svg, bare, drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes


Run = dict[str, Any]
#: Panels side by side; more go below.
ACROSS = 3


def loss_curves(runs: Sequence[Run], select: str, to_beat: Sequence[float]) -> str:
    """A panel for the loss, for each of its parts where it has several, and for validation; a colour a fold, a
    line a seed, a ring at the epoch that was chosen; dashed what the first stage has on validation, a fold."""
    names = loss_names(runs)
    panels = ["loss", *(name for name in names if len(names) > 1), "validation"]
    across = min(ACROSS, len(panels))
    down = -(-len(panels) // across)
    with drawing(0.4 + 3.2 * across, 0.5 + 2.6 * down) as figure:
        places = figure.subplots(down, across, squeeze=False, sharex=True)
        for axes, panel in zip(places.flat, panels, strict=False):
            for run in runs:
                _curve(axes, panel, run)
            title = {"loss": "training loss", "validation": f"validation {select}"}.get(panel, f"{panel} loss")
            for fold, value in enumerate(to_beat if panel == "validation" else (), start=1):
                axes.axhline(value, color=_colour(fold), linewidth=0.8, linestyle="--")
            bare(axes).set_title(title, loc="left")
            axes.set_xlabel("epoch")
            axes.tick_params(labelbottom=True)
            axes.locator_params(axis="x", integer=True)
        for axes in places.flat[len(panels) :]:
            axes.set_visible(False)
        folds = list(dict.fromkeys(run["fold"] for run in runs))
        for fold in folds:
            places.flat[0].plot([], [], color=_colour(fold), label=f"fold {fold}")
        figure.legend(loc="outside lower right", ncols=len(folds))
        return as_svg(figure)


def loss_names(runs: Sequence[Run]) -> list[str]:
    """The parts of the loss, in the order they come."""
    return list(dict.fromkeys(name for run in runs for row in run["history"] for name in row.get("losses", {})))


def value_of(row: dict[str, Any], panel: str) -> float | None:
    """What a panel shows of an epoch."""
    return row[panel] if panel in ("loss", "validation") else row.get("losses", {}).get(panel)


def _curve(axes: Axes, panel: str, run: Run) -> None:
    points = [(row["epoch"], value_of(row, panel)) for row in run["history"]]
    points = [point for point in points if point[1] is not None]
    if points:
        axes.plot(*zip(*points, strict=True), color=_colour(run["fold"]), linewidth=1.1, marker=".", markersize=3)
    if panel == "validation":
        chosen = run["history"][run["chosen"]]
        axes.plot(chosen["epoch"], chosen[panel], "o", color=_colour(run["fold"]), fillstyle="none", markersize=8)


def fold_means(by_fold: Sequence[dict[str, Any]], table: Sequence[dict[str, Any]], model: str) -> str:
    """A panel a measure: each fold's and seed's mean with its interval; below, all folds and the first stage."""
    measures = list(dict.fromkeys(row["measure"] for row in table))
    jobs = list(dict.fromkeys(f"fold {row['fold']}, seed {row['seed']}" for row in by_fold))
    names = [*jobs, *dict.fromkeys(row["name"] for row in table)]
    with drawing(9.0, 0.9 + 0.28 * len(names)) as figure:
        columns = figure.subplots(1, len(measures), sharey=True, squeeze=False)[0]
        for axes, measure in zip(columns, measures, strict=True):
            bare(axes).set_title(f"test {measure}", loc="left")
            rows = [(f"fold {row['fold']}, seed {row['seed']}", row, QUIET) for row in by_fold]
            rows += [(row["name"], row, SERIES[0] if row["name"] == model else SERIES[1]) for row in table]
            for name, row, colour in (one for one in rows if one[1]["measure"] == measure):
                place = names.index(name)
                if row["low"] is not None:
                    axes.plot([row["low"], row["high"]], [place, place], color=colour, linewidth=2)
                axes.plot(row["mean"], place, "o", color=colour, markersize=5)
        columns[0].set_yticks(range(len(names)), names)
        columns[0].set_ylim(len(names) - 0.4, -0.6)
        return as_svg(figure)


def _colour(fold: int) -> str:
    return SERIES[(fold - 1) % len(SERIES)]
