"""A command in a child process that is killed where its parent says, or not at all.

The parent has loaded everything, so that a child starts in milliseconds; the child is a session of its own, and is
killed with all processes that it started.
"""

from __future__ import annotations

import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

#: What Python tells an audit hook about files, and where in the event the paths are.
CHANGES = {"os.rename": (0, 1), "os.remove": (0,), "os.rmdir": (0,), "os.mkdir": (0,), "os.truncate": (0,)}
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
#: Seconds after which a command counts as hung.
LONGEST = 600


@dataclass(frozen=True)
class Ended:
    """How a child ended: its exit code or minus the signal, its seconds, its changes of files, its words."""

    code: int
    seconds: float
    changes: int
    words: str


@dataclass(frozen=True)
class Trouble:
    """A kill before the n-th change of a file or after so many seconds; or a disk that from there on answers every
    change with an error."""

    change: int | None = None
    seconds: float | None = None
    error: int | None = None

    def __str__(self) -> str:
        when = f"at change {self.change}" if self.change else f"after {self.seconds:.2f} s"
        return f"{os.strerror(self.error)} from change {self.change} on" if self.error else f"killed {when}"


def run(work: Callable[[], None], place: Path, log: Path, trouble: Trouble | None = None) -> Ended:
    """Runs `work` in a child; changes of files are counted below `place`."""
    sys.stdout.flush()
    sys.stderr.flush()
    counted, started = log.with_suffix(".count"), time.monotonic()
    child = os.fork()
    if child == 0:
        _be_the_child(work, place, log, counted, trouble or Trouble())
    code = _wait(child, started, trouble.seconds if trouble else None)
    seconds = time.monotonic() - started
    made = len(counted.read_bytes()) if counted.exists() else 0
    return Ended(code, seconds, made, log.read_text(errors="replace"))


def _be_the_child(work: Callable[[], None], place: Path, log: Path, counted: Path, trouble: Trouble) -> None:
    code = 1
    try:
        os.setsid()
        handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
        os.dup2(handle, 1)
        os.dup2(handle, 2)
        sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
        _count_changes(place, counted, trouble)
        work()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _count_changes(place: Path, counted: Path, trouble: Trouble) -> None:
    """Writes one byte for each change, and makes the trouble when it is time."""
    prefix = str(place)
    count = os.open(counted, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
    seen = [0]

    def hook(event: str, about: tuple[Any, ...]) -> None:
        if not _is_change(event, about, prefix):
            return
        seen[0] += 1
        if trouble.change and seen[0] >= trouble.change:
            if trouble.error:
                raise OSError(trouble.error, os.strerror(trouble.error), str(about[0]))
            os.killpg(0, signal.SIGKILL)
        os.write(count, b".")

    sys.addaudithook(hook)


def _is_change(event: str, about: tuple[Any, ...], prefix: str) -> bool:
    if event == "open":
        path, _, flags = about
        return isinstance(flags, int) and bool(flags & WRITING) and str(path).startswith(prefix)
    return event in CHANGES and any(str(about[i]).startswith(prefix) for i in CHANGES[event])


def _wait(child: int, started: float, kill_after: float | None) -> int:
    deadline = started + (kill_after if kill_after is not None else LONGEST)
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > deadline:
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)  # it may not have become a session yet
                os.killpg(child, signal.SIGKILL)
            return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        time.sleep(0.002)
