"""What an engine is, and how one is opened by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Protocol, TypeVar

from whyrank.core.errors import UserError

if TYPE_CHECKING:
    from whyrank.engines.dask import LocalWorkers

Shared = TypeVar("Shared")
Item = TypeVar("Item")
Result = TypeVar("Result")
DASK = "dask://"


class Engine(Protocol):
    """Runs one function over many items; `shared` is what they all need, sent once to each place."""

    #: Whether items run elsewhere, so that what they need must be sent, or loaded there.
    remote: bool

    def each(
        self, function: Callable[[Shared, Item], Result], shared: Shared, items: Sequence[Item]
    ) -> Iterator[tuple[int, Result]]:
        """(number of the item, its result), as they are done."""
        ...


class Local:
    """This process, one item after another."""

    remote = False

    def each(
        self, function: Callable[[Shared, Item], Result], shared: Shared, items: Sequence[Item]
    ) -> Iterator[tuple[int, Result]]:
        for number, item in enumerate(items):
            yield number, function(shared, item)

    def __enter__(self) -> Local:
        return self

    def __exit__(self, *_: object) -> None:
        pass


def open_engine(name: str = "local", workers: int | None = None) -> AbstractContextManager[Engine]:
    """`local`, with `workers` processes of one thread each if asked; or `dask://HOST:PORT`, a scheduler."""
    if name == "local":
        return Local() if workers is None else open_workers(workers)
    if not name.startswith(DASK):
        raise UserError(f"unknown engine '{name}'", todo=f"choose local, or {DASK}HOST:PORT")
    if workers is not None:
        raise UserError("a cluster has its own workers", todo="give workers or an engine, not both")
    return _with_dask().DaskCluster(name.removeprefix(DASK))


def open_workers(workers: int) -> LocalWorkers:
    """`workers` processes of this machine, one thread each."""
    if workers < 1:
        raise UserError(f"{workers} workers", todo="give 1 or more")
    return _with_dask().LocalWorkers(workers)


def _with_dask() -> ModuleType:
    try:
        return import_module("whyrank.engines.dask")
    except ImportError as error:
        raise UserError("Dask is not installed here", todo="pip install 'whyrank[dask]'") from error
