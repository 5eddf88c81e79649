"""Numbers as people read them: how many there are."""

from __future__ import annotations

from collections.abc import Sequence


def plural(number: int, one: str, many: str | None = None) -> str:
    """The word for so many: `seed` or `seeds`, `is` or `are`."""
    return one if number == 1 else many or f"{one}s"


def counted(number: int, noun: str, many: str | None = None) -> str:
    """`1 seed`, `3 seeds`, `2 queries`."""
    return f"{number} {plural(number, noun, many)}"


def span(numbers: Sequence[int]) -> str:
    """`3`, or `3 to 5` where they differ."""
    low, high = min(numbers), max(numbers)
    return str(low) if low == high else f"{low} to {high}"
