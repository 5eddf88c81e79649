"""`explain`: why does this document score as it does? From names to the result."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from whyrank.collections.collection import Collection
from whyrank.collections.given import collection_of
from whyrank.core.caller import SILENT, Caller
from whyrank.core.runs import Run
from whyrank.explain.explanation import Explanation
from whyrank.explain.removal import Removal, removal
from whyrank.explain.scored import BUDGET, ScoredTexts
from whyrank.explain.truncation import truncation_of
from whyrank.explain.words import words_behind
from whyrank.rankers.given import rankers_of
from whyrank.rankers.ranker import Ranker


def explain(
    ranker: str | Ranker,
    query: str,
    document: str,
    *,
    docid: str | None = None,
    collection: str | Collection | None = None,
    remove: str = "delete",
    budget: int = BUDGET,
    device: str = "cpu",
    out: Path | str | None = None,
    caller: Caller = SILENT,
) -> Explanation:
    """The effect of each sentence and word of the document, of each of its distinct words, and of each query word;
    words that matter only together; and what was cut off.

    `remove`: words are deleted, or replaced by fillers (`replace`), which keep the others in their place.
    `budget` bounds how many texts are scored. BM25 counts words in `collection`.
    """
    opened = None if collection is None else collection_of(collection, caller)
    (model,) = rankers_of(ranker, opened, caller, device)
    texts = ScoredTexts(model, budget, caller.progress)
    take: partial[Removal] = partial(removal, remove, model, query)
    inputs = {
        "ranker": model.fingerprint(), "query": query, "document": document, "docid": docid, "remove": remove,
        "budget": budget,
    }  # fmt: skip
    with Run.open(out, Explanation.COMMAND, inputs, caller) as run:
        result = run.finished(Explanation)
        if result is None:
            truncation = truncation_of(texts, query, document)
            found = words_behind(texts, query, document, take)
            result = Explanation(
                ranker=model.name, source=str(model.source), query=query, docid=docid, document=document,
                way=remove, filler=take(document).filler, truncation=truncation, **vars(found),
            )  # fmt: skip
            run.save(result)
        return result
