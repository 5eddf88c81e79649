"""Means of trained rankers on stdout."""

from __future__ import annotations

from collections.abc import Sequence

from whyrank.cli.console import console
from whyrank.learning.tables import Row, by_measure, mean_text


def print_means(rows: Sequence[Row], queries: int) -> None:
    """A line a name, a column a measure."""
    from rich.table import Table

    measures, named = by_measure(rows)
    title = f"{queries} test queries; in brackets 95% intervals over queries"
    table = Table("ranker", title=title, title_justify="left")
    for measure in measures:
        table.add_column(measure, justify="right")
    for name, mine in named.items():
        table.add_row(name, *map(mean_text, mine))
    console().print(table)
