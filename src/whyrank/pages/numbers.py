"""Numbers as people read them: how many there are."""

from __future__ import annotations

from collections.abc import Sequence


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """`1 seed`, `3 seeds`"""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def span(numbers: Sequence[int]) -> str:
    """`3`, or `3 to 5` where they differ."""
    low, high = min(numbers), max(numbers)
    return str(low) if low == high else f"{low} to {high}"
