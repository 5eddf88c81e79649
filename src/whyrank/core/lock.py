"""Locks among processes: a file that one process holds, that says who holds it, and that is gone afterwards.

The system frees a lock when its process dies, however it dies; the file that a killed process leaves behind is
taken over by the next one.
"""

from __future__ import annotations

import gc
import json
import os
import platform
import time
import weakref
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Self

try:
    import fcntl
except ImportError:  # pragma: no cover - not on Windows, where files are not locked
    fcntl = None  # type: ignore[assignment]

from whyrank.core.errors import UserError
from whyrank.core.json_file import NotJson, parse_json

#: Seconds between two tries of a process that waits.
PAUSE = 0.05


@dataclass(frozen=True)
class Holder:
    """The process that holds a lock."""

    pid: int
    host: str
    command: str
    since: str

    @classmethod
    def this_process(cls, asked: str | None) -> Holder:
        since = datetime.now().astimezone().isoformat(" ", "seconds")
        return cls(os.getpid(), platform.node(), asked or "a Python program", since)

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}, '{self.command}', since {self.since}"


class Locked(UserError):
    """Somebody else holds the lock."""


class Lock:
    """A lock that is held from `acquire` to `release`, the end of the process, or the end of this object."""

    def __init__(self, path: Path, *, with_folder: bool = False, asked: str | None = None) -> None:
        """`with_folder`: the folder that it is in is deleted with it if there is nothing else in it; `asked`: what
        its holder was asked for, which whoever is refused is shown."""
        self.path, self.with_folder, self.asked = path, with_folder, asked
        self._finalizer: weakref.finalize[..., Lock] | None = None

    def acquire(self, *, wait: bool = False, todo: str = "wait for it to end") -> Self:
        """Takes the lock; refused with the holder's name while another holds it, unless `wait`."""
        while (handle := _try(self.path)) is None:
            holder = _holder(self.path)
            if not wait and holder and holder.pid == os.getpid() and gc.collect() and (handle := _try(self.path)):
                break  # it was held by an object of this process that nobody has any more
            if not wait:
                raise Locked(f"in use by {holder or 'another process'}", where=self.path.parent, todo=todo)
            time.sleep(PAUSE)
        _say_who(handle, self.asked)
        self._finalizer = weakref.finalize(self, _release, handle, self.path, self.with_folder)
        return self

    def release(self) -> None:
        """Gives it back, and deletes its file."""
        if self._finalizer is not None:
            self._finalizer()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def _try(path: Path) -> int | None:
    """An open and locked handle of the file that is at `path` now, or None while somebody else holds it."""
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
        if fcntl is None:  # pragma: no cover
            return handle
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            return None
        except BaseException:
            os.close(handle)
            raise
        try:
            if os.path.samestat(os.fstat(handle), path.stat()):
                return handle
        except FileNotFoundError:
            pass
        os.close(handle)  # whoever held it has just deleted it: once more


def _say_who(handle: int, asked: str | None) -> None:
    os.ftruncate(handle, 0)
    os.pwrite(handle, json.dumps(vars(Holder.this_process(asked))).encode(), 0)


def _holder(path: Path) -> Holder | None:
    try:
        return parse_json(path.read_bytes(), Holder)
    except (OSError, NotJson):
        return None


def _release(handle: int, path: Path, with_folder: bool) -> None:
    """Deletes the file while it is still held, so that nobody can hold a file that is no longer there."""
    with suppress(OSError):
        if os.path.samestat(os.fstat(handle), path.stat()):
            path.unlink()
            if with_folder:
                path.parent.rmdir()
    os.close(handle)


def is_held(path: Path) -> bool:
    """Whether a living process holds a lock on this file."""
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:
        return False
    try:
        if fcntl is not None:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return fcntl is None
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
