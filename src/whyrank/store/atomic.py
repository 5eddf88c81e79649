"""Writes that are whole or not at all: a temporary name beside the target, then one rename."""

from __future__ import annotations

import errno
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock

from whyrank.errors import UserError

#: Marks an unfinished file or folder; whoever holds the lock of its target may delete it.
PARTIAL = ".partial-"


@contextmanager
def whole_file(target: Path) -> Iterator[Path]:
    """Yields a temporary path; it becomes `target` when the block ends well and is deleted when it does not."""
    with _disk_errors(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{target.name}{PARTIAL}", dir=target.parent)
        os.close(handle)
        partial = Path(name)
        try:
            yield partial
            partial.chmod(0o644)
            partial.replace(target)
        finally:
            partial.unlink(missing_ok=True)


def write_text(target: Path, text: str) -> None:
    """Writes `text` to `target`, whole or not at all."""
    with whole_file(target) as partial:
        partial.write_text(text, encoding="utf-8")


def write_json(target: Path, value: Any) -> None:
    """Writes a value to `target`, whole or not at all; a number that JSON does not know is refused."""
    write_text(target, json.dumps(value, indent=2, allow_nan=False) + "\n")


def check_writable(target: Path) -> None:
    """Raises at once when `target` could not be made later, without making anything that stays."""
    with _disk_errors(target):
        above = next(path for path in (target, *target.absolute().parents) if path.exists())
        if not above.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, "not a folder", str(above))
        with tempfile.TemporaryFile(dir=above):
            pass


def make_once(target: Path, make: Callable[[Path], None]) -> Path:
    """Makes the folder `target` with `make(folder)` unless it is there; safe among processes and kills.

    One process at a time holds the lock (the system frees it when a process is killed); the others
    wait and then find the folder. What a killed process left behind is deleted first.
    """
    if target.is_dir():
        return target
    with _disk_errors(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(target.parent / f".{target.name}.lock"):
            for left in target.parent.glob(f".{target.name}{PARTIAL}*"):
                shutil.rmtree(left, ignore_errors=True)
            if not target.is_dir():
                partial = Path(tempfile.mkdtemp(prefix=f".{target.name}{PARTIAL}", dir=target.parent))
                try:
                    make(partial)
                    _open_to_readers(partial)
                    partial.replace(target)
                finally:
                    shutil.rmtree(partial, ignore_errors=True)
    return target


def _open_to_readers(folder: Path) -> None:
    """Temporary names are made for their owner only; what they become is as readable as any file."""
    folder.chmod(0o755)
    for path in folder.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)


@contextmanager
def _disk_errors(target: Path) -> Iterator[None]:
    """A full disk and a folder that cannot be written are the user's to mend, not our bug."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise UserError(
                "the disk is full",
                where=target,
                todo="free some space and run it again; nothing was left half-written",
            ) from error
        if error.errno in (errno.EACCES, errno.EROFS, errno.EPERM, errno.ENOTDIR, errno.EEXIST, errno.ENOENT):
            raise UserError(
                "cannot write here",
                where=target,
                todo="choose another place, or set WHYRANK_CACHE for the cache",
            ) from error
        raise
