"""What a model's settings may be: a wrong value is refused when it is told, with what it may be."""

from __future__ import annotations

import math
from collections.abc import Sequence

from whyrank.core.errors import UserError


def one_of(name: str, value: str, choices: Sequence[str]) -> None:
    """Raises unless the value is one of the choices."""
    if value not in choices:
        raise UserError(f"{name} cannot be {value!r}", todo=f"choose of {', '.join(choices)}")


def at_least(name: str, value: float, least: float) -> None:
    """Raises for a number below the least, and for what is none."""
    if not value >= least or math.isinf(value):
        raise UserError(f"{name} cannot be {value}", todo=f"give {least} or more")


def share(name: str, value: float) -> None:
    """Raises unless 0 <= value < 1."""
    if not 0 <= value < 1:
        raise UserError(f"{name} cannot be {value}", todo="give a share from 0 up to, and not including, 1")


def part(name: str, value: float) -> None:
    """Raises unless 0 < value <= 1."""
    if not 0 < value <= 1:
        raise UserError(f"{name} cannot be {value}", todo="give a number above 0, up to and including 1")
