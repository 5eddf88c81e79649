"""Shards on a Dask cluster, an existing one or workers started here.

Results come back to the caller, who keeps them: workers need no file system in common. A worker that dies costs
the shards it held, which others take over.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager
from typing import Any, Self

import dask
from distributed import Client, KilledWorker, LocalCluster, as_completed, get_worker

from whyrank.core.errors import UserError
from whyrank.engines.engine import DASK, Item, Result, Shared

#: Seconds to wait for a scheduler's answer, and for its first worker.
PATIENCE = 20
#: Seconds without any worker after which nobody waits for one any more, and between two looks.
ABANDONED, LOOK = 120.0, 5.0
#: How many workers an item may cost before it is held to be the item's own fault.
LIVES = 3
#: Python leaves the current folder out of its path: a `multiprocessing.py` that lies there is not run by a worker.
SAFE_PATH = {"PYTHONSAFEPATH": "1"}
#: The setting that names what nannies put into the environment of the workers that they start, and one more
#: variable that they put there unasked.
SPAWNING, HASH_SEED = "distributed.nanny.pre-spawn-environ", "PYTHONHASHSEED"
#: Our own workers end with us and say nothing of being stopped (of one that is killed its nanny reports); what all
#: items share may be large; no pages are served.
#: A worker that died is started again, however long that takes on a busy machine.
OWN = {
    "distributed.deploy.lost-worker-timeout": "1 day",
    "distributed.worker.daemon": True,
    f"{SPAWNING}.DASK_LOGGING__DISTRIBUTED": "error",
    **{f"{SPAWNING}.{name}": value for name, value in SAFE_PATH.items()},
    "distributed.admin.large-graph-warning-threshold": "1GB",
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
}
#: The only address at which our own workers and their scheduler listen; they take orders without a login.
LOOPBACK = "127.0.0.1"
#: Under which items report how far they are.
TOPIC, MESSAGE = "whyrank", "message"


class DaskCluster:
    """An existing cluster, by its scheduler's address HOST:PORT."""

    remote = True

    def __init__(self, address: str) -> None:
        self.address = address
        self.client: Client | None = None

    def __enter__(self) -> Self:
        dask.config.set({"distributed.scheduler.allowed-failures": LIVES})
        where = f"{DASK}{self.address}"
        try:
            self.client = Client(f"tcp://{self.address}", timeout=PATIENCE)
        except (OSError, ValueError, TimeoutError) as error:
            raise UserError("no Dask scheduler answers", where=where, todo="start one: dask scheduler") from error
        try:
            self.client.wait_for_workers(1, timeout=PATIENCE)
        except TimeoutError as error:
            self.client.close()
            raise UserError(
                "the Dask cluster has no worker", where=where, todo="start one: dask worker"
            ) from error
        return self

    def __exit__(self, *_: object) -> None:
        if self.client is not None:
            self.client.close()

    def each(
        self, function: Callable[[Shared, Item], Result], shared: Shared, items: Sequence[Item]
    ) -> Iterator[tuple[int, Result]]:
        assert self.client is not None
        # A task of its own, not scattered data: when the last worker that holds it dies, it can be made again.
        everywhere: Any = self.client.submit(_itself, shared, pure=False)
        waiting = {
            self.client.submit(function, everywhere, item, pure=False, priority=-number): number
            for number, item in enumerate(items)
        }
        try:
            with self._giving_up(list(waiting)):
                for future in as_completed(list(waiting)):
                    yield waiting[future], _result(future, items[waiting[future]])
        finally:
            self.client.cancel(list(waiting))

    @contextmanager
    def _giving_up(self, futures: Sequence[Any]) -> Iterator[None]:
        """Inside the block, work is cancelled when no worker has been there for a while."""
        ended = threading.Event()

        def look() -> None:
            assert self.client is not None
            seen = time.monotonic()
            while not ended.wait(LOOK):
                if self.client.nthreads():
                    seen = time.monotonic()
                elif time.monotonic() - seen > ABANDONED:
                    self.client.cancel(futures)
                    return

        thread = threading.Thread(target=look, daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    @contextmanager
    def listening(self, on_message: Callable[[Any], object]) -> Iterator[None]:
        """Inside the block, messages that items send arrive here, in a thread of the client's."""
        assert self.client is not None
        self.client.subscribe_topic(TOPIC, lambda event: on_message(event[1][MESSAGE]))
        try:
            yield
        finally:
            self.client.unsubscribe_topic(TOPIC)


def send_message(message: Any) -> None:
    """Sends a message from within an item: numbers, texts and lists of them."""
    get_worker().log_event(TOPIC, {MESSAGE: message})


def _result(future: Any, item: object) -> Any:
    try:
        return future.result()
    except KilledWorker as error:
        todo = "is there memory enough? fewer workers need less"
        raise UserError(f"{LIVES + 1} workers died of {item}", todo=todo) from error
    except CancelledError as error:
        what = f"no worker for {ABANDONED:.0f} seconds"
        raise UserError(what, todo="start one; finished shards are kept") from error


def _itself(shared: Shared) -> Shared:
    return shared


@contextmanager
def _environment_for_workers() -> Iterator[None]:
    """The current folder is off the path of processes started meanwhile; then the environment is as it was.

    Nannies run in this process and change its own environment whenever they start a worker, also one in place of
    another that died.
    """
    names = {*dask.config.get(SPAWNING), HASH_SEED, *SAFE_PATH}
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(SAFE_PATH)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


class LocalWorkers(DaskCluster):
    """Processes of this machine, one thread each, for as long as the work takes."""

    def __init__(self, workers: int) -> None:
        super().__init__("")
        self.workers = workers
        self.cluster: LocalCluster | None = None
        self.settings = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as settings:
            settings.enter_context(dask.config.set({"distributed.scheduler.allowed-failures": LIVES, **OWN}))
            settings.enter_context(_environment_for_workers())
            self.cluster = LocalCluster(
                n_workers=self.workers,
                threads_per_worker=1,
                processes=True,
                memory_limit=None,
                host=LOOPBACK,
                dashboard_address=f"{LOOPBACK}:0",
                scheduler_kwargs={"dashboard": False},
            )
            self.client = Client(self.cluster)
            self.settings = settings.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        """Stops the workers; that their work ends half-way is not logged."""
        log = logging.getLogger("distributed")
        level = log.level
        log.setLevel(logging.ERROR)
        with self.settings:
            super().__exit__()
            if self.cluster is not None:
                self.cluster.close()
        log.setLevel(level)
