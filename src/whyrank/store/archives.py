"""Single files out of a tar archive, read as data: nothing is unpacked, so no name can lead out of a folder."""

from __future__ import annotations

import tarfile
from pathlib import Path

from whyrank.errors import UserError


def read_member(archive: Path, name: str) -> bytes:
    """The content of the archive's file `name`; links, devices and folders are refused, whatever they lead to."""
    todo = "is it the package it should be?"
    try:
        with tarfile.open(archive) as opened:
            member = opened.getmember(name)
            source = opened.extractfile(member) if member.isreg() else None
            if source is None:
                raise UserError(f"{name} in the package is not a plain file", where=archive, todo=todo)
            return source.read()
    except KeyError as error:
        raise UserError(f"no {name} in the package", where=archive, todo=todo) from error
    except (tarfile.TarError, EOFError, OSError) as error:
        raise UserError(f"not a tar archive that can be read ({error})", where=archive, todo=todo) from error
