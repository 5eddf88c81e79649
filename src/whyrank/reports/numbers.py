"""Numbers as people read them: a value, in brackets the ends of its 95% interval; and how many there are."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

#: Below this a corrected p-value is significant.
SIGNIFICANT = 0.05


def with_ends(value: float | None, low: float | None, high: float | None, form: str = ".3f") -> str:
    """`0.777 [0.711, 0.844]`; `0.777 [–]` without an interval, `–` without a value. A sign in `form` is the
    value's only."""
    if _lacking(value):
        return "–"
    return f"{value:{form}} {ends(low, high, form.lstrip('+'))}"


def ends(low: float | None, high: float | None, form: str = ".3f") -> str:
    """`[0.711, 0.844]`, or `[–]`."""
    return "[–]" if _lacking(low) or _lacking(high) else f"[{low:{form}}, {high:{form}}]"


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """`1 seed`, `3 seeds`"""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def span(numbers: Sequence[int]) -> str:
    """`3`, or `3 to 5` where they differ."""
    low, high = min(numbers), max(numbers)
    return str(low) if low == high else f"{low} to {high}"


def is_significant(row: Mapping[str, Any]) -> bool:
    """By Holm's correction, where there is a p-value."""
    return row["p_holm"] is not None and row["p_holm"] < SIGNIFICANT


def _lacking(number: float | None) -> bool:
    return number is None or math.isnan(number)
