"""Files out of archives, read as data: no name in an archive can lead out of the folder that it is for."""

from __future__ import annotations

import shutil
import stat
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath, PureWindowsPath

from whyrank.core.errors import UserError

#: What is said when an archive does not hold what it should.
TODO = "is it the package it should be?"


def read_member(archive: Path, name: str) -> bytes:
    """The content of a tar archive's file `name`; links, devices and folders are refused, wherever they lead."""
    try:
        with tarfile.open(archive) as opened:
            member = opened.getmember(name)
            source = opened.extractfile(member) if member.isreg() else None
            if source is None:
                raise UserError(f"{name} in the package is not a plain file", where=archive, todo=TODO)
            return source.read()
    except KeyError as error:
        raise UserError(f"no {name} in the package", where=archive, todo=TODO) from error
    except (tarfile.TarError, EOFError, OSError) as error:
        raise UserError(f"not a tar archive that can be read ({error})", where=archive, todo=TODO) from error


def unpack_zip(archive: Path, below: str, target: Path) -> None:
    """The files below one folder of a zip archive, into `target`.

    All of them are looked at before the first is written: a link, or a name that leads out of the folder, and
    nothing is.
    """
    try:
        with zipfile.ZipFile(archive) as packed:
            members = list(_members_below(packed, below, archive))
            if not members:
                raise UserError(f"no file below {below} in the package", where=archive, todo=TODO)
            for member, inside in members:
                path = target / inside
                path.parent.mkdir(parents=True, exist_ok=True)
                with packed.open(member) as source, path.open("wb") as sink:
                    shutil.copyfileobj(source, sink)
    except (zipfile.BadZipFile, EOFError, NotImplementedError) as error:
        raise UserError(f"not a zip archive that can be read ({error})", where=archive, todo=TODO) from error


def _members_below(packed: zipfile.ZipFile, below: str, archive: Path) -> Iterator[tuple[zipfile.ZipInfo, str]]:
    for member in packed.infolist():
        inside = member.filename.removeprefix(f"{below}/")
        if inside in ("", member.filename) or inside.endswith(("/", "desktop.ini")):
            continue
        if stat.S_ISLNK(member.external_attr >> 16):
            raise UserError(f"{member.filename} in the package is a link", where=archive, todo=TODO)
        if not _stays_inside(inside):
            raise UserError(
                f"{member.filename} in the package leads out of the folder {below}", where=archive, todo=TODO
            )
        yield member, inside


def _stays_inside(name: str) -> bool:
    """Whether a relative name leads to a place below the folder it is joined to, on any system."""
    steps = name.split("/")
    windows = PureWindowsPath(name)
    return not (
        PurePosixPath(name).is_absolute()
        or windows.drive
        or "\\" in name
        or any(step in ("", ".", "..") for step in steps)
    )
