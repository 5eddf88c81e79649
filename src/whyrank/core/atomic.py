"""Writes that are whole or not at all: a temporary name beside the target, synced to the disk, then one rename."""

from __future__ import annotations

import errno
import json
import os
import secrets
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from whyrank.core.errors import UserError, quoted
from whyrank.core.lock import Lock, fcntl, is_held

#: Marks an unfinished file or folder; whoever holds the lock of its target may delete it.
PARTIAL = ".partial-"
#: Seconds in which a file that was just made may not be locked yet by who made it.
NEW = 1.0
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
FORBIDDEN = (
    errno.EACCES, errno.EROFS, errno.EPERM, errno.ENOTDIR, errno.EEXIST, errno.ENOENT, errno.ELOOP,
    errno.ENAMETOOLONG,
)  # fmt: skip


class DiskError(UserError):
    """What was to be written could not be; the work itself may be right."""


@contextmanager
def whole_file(target: Path) -> Iterator[Path]:
    """Yields a temporary path; it becomes `target` when the block ends well and is deleted when it does not.

    What killed processes left of the same target is deleted first. A link at `target` is replaced, not followed.
    """
    with disk_errors(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        clean_partials(target.parent, target.name)
        partial = target.parent / f".{target.name}{PARTIAL}{secrets.token_hex(6)}"
        handle = os.open(partial, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)  # as open as the umask lets it be
        try:
            if fcntl is not None:
                fcntl.flock(handle, fcntl.LOCK_EX)  # tells the living from the dead: see clean_partials
            yield partial
            partial.chmod(stat.S_IMODE(os.fstat(handle).st_mode))  # some libraries make files for the owner only
            sync_file(partial)
            partial.replace(target)
            sync_file(target.parent)
        finally:
            partial.unlink(missing_ok=True)
            os.close(handle)


def clean_partials(folder: Path, name: str) -> None:
    """Deletes the unfinished files of one target whose writers are no longer alive."""
    for left in folder.glob(f".{_escaped(name)}{PARTIAL}*"):
        with suppress(OSError):
            if time.time() - left.lstat().st_mtime > NEW and left.is_file() and not is_held(left):
                left.unlink()


def _escaped(name: str) -> str:
    """A name as a pattern that matches it alone."""
    return "".join(f"[{c}]" if c in "*?[" else c for c in name)


def sync_file(path: Path) -> None:
    """Waits until a file's or a folder's content is on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some file systems do not sync folders
            raise
    finally:
        os.close(handle)


def sync_folder(folder: Path) -> None:
    """The same for everything below a folder."""
    for path in [*folder.rglob("*"), folder]:
        if not path.is_symlink():
            sync_file(path)


def write_text(target: Path, text: str) -> None:
    """Writes `text` to `target`, whole or not at all."""
    with whole_file(target) as partial:
        partial.write_text(text, encoding="utf-8")


def write_json(target: Path, value: Any) -> None:
    """Writes a value to `target`, whole or not at all; a number that JSON does not know is refused."""
    write_text(target, json.dumps(value, indent=2, allow_nan=False) + "\n")


def check_writable(target: Path) -> None:
    """Raises at once when `target` could not be made later, without making anything that stays."""
    with disk_errors(target):
        above = next(path for path in (target, *target.absolute().parents) if path.exists())
        if not above.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, "not a folder", str(above))
        with tempfile.TemporaryFile(dir=above):
            pass


def make_once(target: Path, make: Callable[[Path], None]) -> Path:
    """Makes the folder `target` with `make(folder)` unless it is there; safe among processes and kills.

    One process at a time holds the lock; the others wait and then find the folder.
    """
    if not target.is_dir():
        with disk_errors(target):
            target.parent.mkdir(parents=True, exist_ok=True)
            with _lock_of(target).acquire(wait=True):
                if not target.is_dir():
                    _make(target, make)
    return target


def make_new(target: Path, make: Callable[[Path], None]) -> Path:
    """Makes the folder `target` with `make(folder)`; refused when it is there, or somebody else is making it."""
    with disk_errors(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        with _lock_of(target).acquire(todo="wait for it to end, or choose another folder"):
            if target.is_symlink() or (target.exists() and not (target.is_dir() and not any(target.iterdir()))):
                raise UserError("this is there already", where=target, todo="choose another folder")
            _make(target, make)
    return target


def _lock_of(target: Path) -> Lock:
    return Lock(target.parent / f".{target.name}.lock")


def _make(target: Path, make: Callable[[Path], None]) -> None:
    """What a killed process left behind is deleted first."""
    for left in target.parent.glob(f".{_escaped(target.name)}{PARTIAL}*"):
        shutil.rmtree(left, ignore_errors=True)
    partial = target.parent / f".{target.name}{PARTIAL}{secrets.token_hex(6)}"
    partial.mkdir()
    try:
        make(partial)
        as_open_as(partial)
        sync_folder(partial)
        if target.is_dir():
            target.rmdir()  # an empty folder that the user made for it
        partial.replace(target)
        sync_file(target.parent)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def as_open_as(folder: Path) -> None:
    """Makes all files in a folder as readable as the folder, whose mode is what the umask lets it be: safetensors
    makes files for the owner only."""
    mode = folder.stat().st_mode & 0o666
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            path.chmod(mode)


@contextmanager
def disk_errors(target: Path) -> Iterator[None]:
    """A full disk and a folder that cannot be written are the user's to mend, not our bug."""
    try:
        yield
    except OSError as error:
        known = _disk_error(error, target, FORBIDDEN)
        if known is None:
            raise
        raise known from error


def disk_error(error: OSError) -> DiskError | None:
    """What to say of an error that is the disk's wherever it arises; None if it may be our bug."""
    if error.errno == errno.ENAMETOOLONG:
        name = "" if error.filename is None else quoted(str(error.filename))
        return DiskError("too long for a name of a file", where=name, todo="give a shorter one")
    return _disk_error(error, error.filename, (errno.EACCES, errno.EROFS, errno.EPERM))


def _disk_error(error: OSError, where: str | Path | None, forbidden: tuple[int, ...]) -> DiskError | None:
    if error.errno in FULL or "No space left" in str(error):
        todo = "free some space and run it again; nothing was left half-written"
        return DiskError("the disk is full", where=where, todo=todo)
    if error.errno in forbidden:
        todo = "choose another place, or set WHYRANK_CACHE for the cache"
        return DiskError("cannot write here", where=where, todo=todo)
    if error.errno == errno.EIO:
        return DiskError("the disk does not answer (input/output error)", where=where)
    return None


def remove_folder(folder: Path) -> None:
    """Deletes a folder with all that is in it; a link in its place is deleted, not followed."""
    if folder.is_symlink():
        folder.unlink()
    else:
        with suppress(FileNotFoundError):
            shutil.rmtree(folder)
