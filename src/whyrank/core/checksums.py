"""Sizes and hashes of a folder's files, kept inside it: what was cut, changed, lost or added is found, not used.

    write_checksums(folder)          # once, when the folder is complete
    damage(folder)                   # None, or what is wrong: 'file weights.pt: 12 bytes, not 90421'
    damage(folder, full=True)        # reads every byte, for a disk that changes bits and keeps sizes and times

The cheap check compares sizes and times; a file with another time (copied, restored from a backup) has its hash
compared, once: when it is the same, the new time is noted.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from whyrank.core.atomic import write_json
from whyrank.core.errors import UserError
from whyrank.core.json_file import read_json

#: The file inside a folder that lists the others.
CHECKSUMS = ".checksums.json"


@dataclass(frozen=True)
class FileSum:
    """One file as it was when it was complete."""

    size: int
    mtime_ns: int
    sha256: str


def has_checksums(folder: Path) -> bool:
    """Whether the folder lists its files; what earlier versions of whyrank made does not."""
    return (folder / CHECKSUMS).is_file()


def write_checksums(folder: Path) -> None:
    """Notes every file of the folder, also those in folders below it."""
    _write(folder, {name: _sum(path) for name, path in _files(folder).items()})


def damage(folder: Path, full: bool = False) -> str | None:
    """What is wrong with the folder's files, the first of it by name; None when they are as they were written."""
    if not has_checksums(folder):
        return "it does not list its files"
    try:
        noted: dict[str, FileSum] = read_json(folder / CHECKSUMS, dict[str, FileSum])
    except UserError as error:
        return f"file {CHECKSUMS}: {error.what}"
    found = _files(folder)
    for name in sorted({*noted, *found}):
        if name not in found:
            return f"file {name}: missing"
        if name not in noted:
            return f"file {name}: added later"
        if wrong := _difference(found[name], noted[name], full):
            return f"file {name}: {wrong}"
    times = {name: replace(noted[name], mtime_ns=path.stat().st_mtime_ns) for name, path in found.items()}
    if times != noted:
        with suppress(OSError, UserError):  # a cache that cannot be written is checked again next time
            _write(folder, times)
    return None


def changed_file(folder: Path, other: Path) -> str | None:
    """The first file by name in which two folders differ, whatever they list."""
    ours, theirs = _files(folder), _files(other)
    for name in sorted({*ours, *theirs}):
        if name not in ours:
            return f"file {name}: missing"
        if name not in theirs:
            return f"file {name}: added later"
        if wrong := _difference(ours[name], _sum(theirs[name]), full=True):
            return f"file {name}: {wrong}"
    return None


def sha256(file: Path) -> str:
    """The sha256 of a file, as hexadecimal digits."""
    with file.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def _difference(path: Path, noted: FileSum, full: bool) -> str | None:
    try:
        now = path.stat()
        if now.st_size != noted.size:
            return f"{now.st_size:,} bytes, not {noted.size:,}"
        if (full or now.st_mtime_ns != noted.mtime_ns) and sha256(path) != noted.sha256:
            return "its content has changed"
    except OSError as error:
        return f"cannot be read ({error.strerror})"
    return None


def _sum(path: Path) -> FileSum:
    about = path.stat()
    return FileSum(about.st_size, about.st_mtime_ns, sha256(path))


def _files(folder: Path) -> dict[str, Path]:
    """Name within the folder -> file. Names that begin with a dot are not ours (locks, a file manager's notes)."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file() or path.is_symlink())
    inside = {path.relative_to(folder): path for path in paths}
    return {name.as_posix(): path for name, path in inside.items() if not name.name.startswith(".")}


def _write(folder: Path, sums: dict[str, FileSum]) -> None:
    write_json(folder / CHECKSUMS, {name: asdict(one) for name, one in sums.items()})
