"""Errors that are the user's to mend: one clear line that says what, where and what to do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any


class UserError(Exception):
    """A mistake in the input. The command line prints it as one line and exits with 2.

    `what` says what is wrong, `where` names the place (a file, or `file:line`), `todo` says what to do.
    """

    def __init__(self, what: str, *, where: str | Path | None = None, todo: str | None = None) -> None:
        self.what, self.where, self.todo = what, None if where is None else str(where), todo
        super().__init__(what, self.where, todo)

    def __reduce__(self) -> tuple[Any, ...]:
        """As another process is sent it."""
        return partial(type(self), where=self.where, todo=self.todo), (self.what,)

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        advice = f"; {self.todo}" if self.todo else ""
        return f"{place}{self.what}{advice}"


@contextmanager
def located(where: str | Path | None, value: str | None = None) -> Iterator[None]:
    """Adds the place to a mistake that is found inside of the block by code that does not know it, or that knows
    no more than `value`, which was read there."""
    try:
        yield
    except UserError as error:
        if where is None or (error.where is not None and str(error.where) != value):
            raise
        what = error.what if error.where is None else f"{quoted(value)}: {error.what}"
        raise UserError(what, where=where, todo=error.todo) from error


def quoted(value: object, most: int = 60) -> str:
    """A value as Python writes it, cut where it is long: for a message of one line."""
    try:
        text = repr(value)
    except (RecursionError, ValueError):  # nested too deep; an integer of thousands of digits
        return f"a {type(value).__name__}"
    return text if len(text) <= most else f"{text[:most]}..."


def nearest(name: str, known: Iterable[str]) -> str:
    """`did you mean a, b?` for a name that is not known, or those that are (a dozen at most)."""
    known = sorted(known)
    close = get_close_matches(name, known, n=3, cutoff=0.5)
    more = f" and {len(known) - 12} more" if len(known) > 12 else ""
    return f"did you mean {', '.join(close)}?" if close else f"known: {', '.join(known[:12])}{more}"
