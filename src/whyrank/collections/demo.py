"""The built-in collection, small enough to come with the package: for a first look and for the examples."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from whyrank.collections import beir
from whyrank.collections.collection import Collection
from whyrank.core.errors import UserError


def open_demo() -> Collection:
    """The collection `demo`."""
    folder = Path(str(files("whyrank.collections"))) / "data" / "demo"
    if not folder.is_dir():
        raise UserError(
            "the built-in collection is missing from this installation", where=folder, todo="install again"
        )
    return beir.open_folder(folder, name="demo", all_queries=True)
