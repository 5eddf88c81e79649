"""The rankers that a verb is given: objects as they are, names loaded, and where their weights come from said."""

from __future__ import annotations

from collections.abc import Sequence

from whyrank.collections.collection import Collection
from whyrank.core.caller import SILENT, Caller
from whyrank.rankers.load import load
from whyrank.rankers.ranker import Ranker


def rankers_of(
    given: str | Ranker | Sequence[str | Ranker],
    collection: Collection | None = None,
    caller: Caller = SILENT,
    device: str = "cpu",
) -> list[Ranker]:
    """One ranker or several, each once."""
    several = [given] if isinstance(given, str | Ranker) else list(dict.fromkeys(given))
    found = [load(one, collection=collection, device=device) if isinstance(one, str) else one for one in several]
    for ranker in found:
        caller.say(f"{ranker.name}: {ranker.source}")
    return found
