"""Means of trained rankers on stdout."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from whyrank.cli.console import console

if TYPE_CHECKING:
    from whyrank.learning.tables import Mean


def print_means(rows: Sequence[Mean]) -> None:
    """One line per name, one column per measure."""
    from rich.table import Table

    from whyrank.learning.tables import by_measure

    measures, named = by_measure(rows)
    title = f"{rows[0].mean.queries} test queries; in brackets 95% intervals over queries"
    table = Table("ranker", title=title, title_justify="left")
    for measure in measures:
        table.add_column(measure, justify="right")
    for name, mine in named.items():
        table.add_row(name, *(row.text() for row in mine))
    console().print(table)
