"""How findings of the term-frequency papers are judged: by intervals, by what most heads say, on enough pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from whyrank.pages.findings import OPEN, Beside

#: Bootstrap intervals of fewer pairs or documents are too narrow to judge by.
FEWEST = 8


def judged(row: Beside, n: int, least: int = FEWEST) -> Beside:
    """The row, without a verdict where it stands on too few pairs or documents."""
    if n >= least or row.verdict == OPEN:
        return row
    told = f"{row.why}; " if row.why else ""
    return replace(row, verdict=OPEN, why=f"{told}no verdict on fewer than {least}")


def beyond(low: float | None, high: float | None, limit: float) -> bool | None:
    """True where an interval lies at or above a limit, False below, None where it holds it."""
    if low is None or high is None:
        return None
    return True if low >= limit else False if high < limit else None


def majority(for_it: int, against: int, of: int) -> bool | None:
    """What most say, if most say anything."""
    return True if for_it > of / 2 else False if against > of / 2 else None


def some_of(words: Sequence[str], most: int = 3) -> str:
    """The first of them, and how many more there are."""
    more = len(words) - most
    return ", ".join(words[:most]) + (f" and {more} more" if more > 0 else "")
