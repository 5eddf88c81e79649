"""Tables of rankers and measures: rows `name, measure, mean, low, high, ...` put side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from whyrank.evaluation.estimate import row_text

Row = Mapping[str, Any]


def by_measure(rows: Sequence[Row]) -> tuple[list[str], dict[str, list[Row]]]:
    """The measures, and for each name its row of every measure, both in the order in which they come."""
    measures = list(dict.fromkeys(row["measure"] for row in rows))
    found = {(row["name"], row["measure"]): row for row in rows}
    names = dict.fromkeys(row["name"] for row in rows)
    return measures, {name: [found[name, measure] for measure in measures] for name in names}


def mean_text(row: Row) -> str:
    """`0.7768 [0.7109, 0.8438]`."""
    return row_text(row, "mean", ".4f")
