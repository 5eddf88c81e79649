"""The figures of a fine-tuning: loss and validation over the epochs, and the test means with their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from whyrank.plots.style import QUIET, SERIES, as_svg, bare, drawing

Run = dict[str, Any]


def learning_curves(runs: Sequence[Run], chooses: str) -> str:
    """Two panels over the epochs, a colour a condition, a line a seed; a ring at the epoch that was chosen."""
    conditions = list(dict.fromkeys(run["condition"] for run in runs))
    panels = (("loss", "training loss"), ("validation", f"validation {chooses}"))
    with drawing(9.0, 3.2) as figure:
        for axes, (what, title) in zip(figure.subplots(1, 2), panels, strict=True):
            bare(axes).set_title(title, loc="left")
            axes.set_xlabel("epoch")
            axes.locator_params(axis="x", integer=True)
            for run in runs:
                points = [(row["epoch"], row[what]) for row in run["history"] if row[what] is not None]
                colour = SERIES[conditions.index(run["condition"]) % len(SERIES)]
                axes.plot(*zip(*points, strict=True), color=colour, linewidth=1.1, marker=".", markersize=3)
                if what == "validation":
                    chosen = run["history"][run["chosen"]]
                    axes.plot(chosen["epoch"], chosen[what], "o", color=colour, fillstyle="none", markersize=8)
        for number, name in enumerate(conditions):
            axes.plot([], [], color=SERIES[number % len(SERIES)], label=name)
        figure.legend(loc="outside lower right", ncols=len(conditions))
        return as_svg(figure)


def mean_bars(table: Sequence[dict[str, Any]]) -> str:
    """A panel a measure: each row's mean with its interval, and a small mark a seed."""
    measures = list(dict.fromkeys(row["measure"] for row in table))
    names = list(dict.fromkeys(row["name"] for row in table))
    with drawing(9.0, 0.9 + 0.36 * len(names)) as figure:
        columns = figure.subplots(1, len(measures), sharey=True, squeeze=False)[0]
        for axes, measure in zip(columns, measures, strict=True):
            bare(axes).set_title(f"test {measure}", loc="left")
            for row in (row for row in table if row["measure"] == measure):
                place = names.index(row["name"])
                if row["low"] is not None:
                    axes.plot([row["low"], row["high"]], [place, place], color=SERIES[0], linewidth=2)
                axes.plot(row["by_seed"], [place + 0.2] * len(row["by_seed"]), "|", color=QUIET, markersize=6)
                axes.plot(row["mean"], place, "o", color=SERIES[0], markersize=5)
        columns[0].set_yticks(range(len(names)), names)
        columns[0].set_ylim(len(names) - 0.4, -0.6)
        return as_svg(figure)
