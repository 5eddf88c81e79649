"""How long work reports its progress."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

#: Called with the number of items that were done since the last call.
Progress = Callable[[int], object]
#: Opens the progress of one step of long work: its name and its number of items.
OpenProgress = Callable[[str, int], AbstractContextManager[Progress]]


@contextmanager
def no_progress(name: str, total: int) -> Iterator[Progress]:
    """A step that nobody watches."""
    yield lambda done: None
