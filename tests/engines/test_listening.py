"""Workers started here are reached from this machine only."""

from __future__ import annotations

import copy
import os
import signal
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterable
from pathlib import Path

import dask
import pytest

from whyrank.engines.engine import open_workers

#: The state of a socket that listens, in /proc/net/tcp.
LISTENS = "0A"
#: 127.0.0.1 and ::1 as they stand there.
LOOPBACK = {"0100007F", "00000000000000000000000001000000"}

pytestmark = [
    pytest.mark.security,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="sockets are read from /proc"),
]


def sockets(processes: Iterable[int]) -> set[str]:
    """The open sockets of these processes, by the system's number."""
    links = [link for process in processes for link in Path(f"/proc/{process}/fd").iterdir()]
    targets = [str(link.readlink()) for link in links if link.is_symlink()]
    return {target[8:-1] for target in targets if target.startswith("socket:[")}


def listening(processes: Iterable[int]) -> dict[str, str]:
    """ADDRESS:PORT (hexadecimal) -> number of each socket at which one of these processes listens."""
    own = sockets(processes)
    lines = [
        line.split() for name in ("tcp", "tcp6") for line in Path(f"/proc/net/{name}").read_text().splitlines()
    ]
    return {fields[1]: fields[9] for fields in lines if fields[3] == LISTENS and fields[9] in own}


def test_scheduler_workers_and_their_pages_listen_on_loopback_and_serve_no_page() -> None:
    before = listening([os.getpid()])
    with open_workers(2) as engine:
        assert engine.cluster is not None
        workers = [nanny.pid for nanny in engine.cluster.workers.values()]
        found = {place: one for place, one in listening([os.getpid(), *workers]).items() if place not in before}
        assert len(found) >= 5, "the scheduler and two workers with their nannies"
        assert {place.split(":")[0] for place in found} <= LOOPBACK
        port = engine.cluster.scheduler.http_server.port
        for page in ("status", "info/main/workers.html", "json/counts.json", "metrics", "health"):
            with pytest.raises(urllib.error.HTTPError, match="404"):
                urllib.request.urlopen(f"http://127.0.0.1:{port}/{page}", timeout=5)


def environment() -> dict[str, str]:
    """Without the process's own number, which is left there to be known by its workers."""
    return {name: value for name, value in os.environ.items() if name != "__DASK_PARENT_PID"}


@pytest.mark.parametrize("safe_path", [None, "", "1"])
def test_environment_and_settings_are_as_they_were_afterwards_even_if_a_worker_was_restarted(
    safe_path: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("PYTHONSAFEPATH", "PYTHONHASHSEED"):
        monkeypatch.delenv(name, raising=False)
    if safe_path is not None:
        monkeypatch.setenv("PYTHONSAFEPATH", safe_path)
    before, settings = environment(), copy.deepcopy(dask.config.config)
    with open_workers(1) as engine:
        assert engine.client is not None and engine.cluster is not None
        (nanny,) = engine.cluster.workers.values()
        first = nanny.pid
        os.kill(first, signal.SIGKILL)
        while nanny.pid in (None, first):
            time.sleep(0.05)
        assert engine.client.submit(lambda: sys.flags.safe_path).result()
    assert environment() == before
    assert dask.config.config == settings
