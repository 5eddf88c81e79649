"""The rankers that a verb is given: objects as they are, names loaded, and where their weights come from said."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whyrank.collections.collection import Collection
from whyrank.core.caller import SILENT, Caller
from whyrank.core.errors import UserError
from whyrank.rankers.load import load
from whyrank.rankers.ranker import Ranker

if TYPE_CHECKING:
    from whyrank.rankers.neural import NeuralRanker

#: A ranker, its name or folder, or a model in memory that `load` takes.
Given = str | Path | Ranker | Any


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


def neural_ranker(
    given: Given, max_length: int | None = None, device: str = "cpu", caller: Caller = SILENT
) -> NeuralRanker:
    """One ranker that can be opened, reading at most `max_length` tokens; BM25 has nothing inside."""
    from whyrank.rankers.neural import NeuralRanker

    if max_length is not None and isinstance(given, Ranker):
        raise UserError("max_length is for a ranker that is loaded here", todo="load it with this max_length")
    settings: dict[str, Any] = {} if max_length is None else {"max_length": max_length}
    found = None if str(given) == "bm25" else load(given, device=device, **settings)
    if not isinstance(found, NeuralRanker):
        name = found.name if found else "bm25"
        raise UserError(f"{name} cannot be opened", todo="choose a neural ranker, such as ce-minilm-l12")
    caller.say(f"{found.name}: {found.source}")
    return found
