"""The rankers that a verb is given: objects as they are, names loaded, and where their weights come from said."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from whyrank.collections.collection import Collection
from whyrank.core.caller import SILENT, Caller
from whyrank.rankers.load import load
from whyrank.rankers.ranker import Ranker

#: A ranker, its name, or a model in memory that `load` takes.
Given = str | Ranker | Any


def rankers_of(
    given: Given | Sequence[Given],
    collection: Collection | None = None,
    caller: Caller = SILENT,
    device: str = "cpu",
) -> list[Ranker]:
    """One ranker or several, by name, as objects or as models in memory, each once."""
    several = list(dict.fromkeys(given)) if isinstance(given, list | tuple) else [given]
    found = [load(one, collection=collection, device=device) for one in several]
    for ranker in found:
        caller.say(f"{ranker.name}: {ranker.source}")
    return found
