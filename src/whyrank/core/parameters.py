"""Numbers that a verb is given: refused in the words of its parameters, before anything is opened."""

from __future__ import annotations

import math
from numbers import Integral, Real

from whyrank.core.errors import UserError, quoted

#: NumPy takes no larger seed.
LARGEST_SEED = 2**32 - 1
#: A shorter text has no room for a query and a document.
SHORTEST_TEXT = 8


def at_least(name: str, value: float | None, least: float) -> None:
    """Raises for a number below the least, and for what is not a number; None is an option that is not given."""
    if value is None:
        return
    if not isinstance(value, Real) or not value >= least or math.isinf(value):
        raise UserError(f"{name} cannot be {quoted(value)}", todo=f"give {least} or more")


def check_counts(least: int, **values: int | None) -> None:
    """Raises for a count below the least, and for what is not a whole number."""
    for name, value in values.items():
        if value is not None and (not isinstance(value, Integral) or isinstance(value, bool)):
            raise UserError(f"{name} cannot be {quoted(value)}", todo=f"give a whole number, {least} or more")
        at_least(name, value, least)


def check_seed(seed: int | None) -> None:
    check_counts(0, seed=seed)
    if seed is not None and seed > LARGEST_SEED:
        raise UserError(f"seed cannot be {seed}", todo=f"give {LARGEST_SEED} or less")
