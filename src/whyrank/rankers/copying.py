"""Small files of a checkpoint, copied into another; a link that leads out of the checkpoint is refused.

A checkpoint of a stranger may hold a link to a private file, which a saved and shared copy would then contain. The
hub's cache keeps its files beside the snapshot and links to them: those are the checkpoint's own.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from whyrank.core.errors import UserError


def copy_files(source: Path, target: Path, wanted: Callable[[str], bool]) -> None:
    """Copies the files of a folder, not of folders in it, whose names are wanted."""
    for path in check_links(source, wanted):
        shutil.copyfile(path, target / path.name)


def check_links(source: Path, wanted: Callable[[str], bool]) -> list[Path]:
    """The files that would be copied; raises where one is a link that leads out of the checkpoint."""
    found = [path for path in sorted(source.iterdir()) if wanted(path.name) and path.is_file()]
    for path in found:
        check_own(path, source)
    return found


def copy_folder(path: Path, source: Path, target: Path) -> None:
    """Copies a folder of the checkpoint with all that is in it."""
    for one in (path, *sorted(path.rglob("*"))):
        check_own(one, source)
    shutil.copytree(path, target / path.name)


def check_own(path: Path, source: Path) -> None:
    """Raises for a link that leads out of the checkpoint."""
    real, places = path.resolve(), [source.resolve()]
    if source.parent.name == "snapshots":
        places.append(source.parent.parent.resolve() / "blobs")
    if not any(real.is_relative_to(place) for place in places):
        raise UserError(
            "a link out of the checkpoint is not copied", where=path, todo="put the file itself in its place"
        )
