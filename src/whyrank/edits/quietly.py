"""Work that nobody watches."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from whyrank.rankers.ranker import Progress


@contextmanager
def quietly(name: str, count: int) -> Iterator[Progress]:
    """A step of the work without a progress bar."""
    yield lambda done: None
