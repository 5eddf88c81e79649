"""Who asked for a piece of work: what was asked, and how progress and messages reach them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

from whyrank.core.progress import Progress

#: Opens the progress of a step: its name, its number of items, and what an item is.
OpenBar = Callable[[str, int, str], AbstractContextManager[Progress]]


@contextmanager
def no_bar(name: str, total: int, unit: str) -> Iterator[Progress]:
    """No progress is shown."""
    yield lambda done: None


def say_nothing(text: str) -> None:
    """No message is shown."""


@dataclass(frozen=True)
class Caller:
    """The command line, a page or a Python program. The default, Python's, is silent.

    `asked` is what the manifest says was asked: the command line, or None where a Python program called.
    """

    asked: str | None = None
    progress: OpenBar = no_bar
    say: Callable[[str], None] = say_nothing


SILENT = Caller()
