"""`explain`: why does this document score as it does, why is it above that one, why is it not on top?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from whyrank.collections.collection import Collection
from whyrank.collections.hits import Fields, Hits
from whyrank.collections.opening import collection_of
from whyrank.collections.records import Run as TrecRun
from whyrank.core.caller import SILENT, Caller
from whyrank.core.runs import Run
from whyrank.explain.explanation import Explanation
from whyrank.explain.inside import Inside
from whyrank.explain.material import asked
from whyrank.explain.question import Question
from whyrank.explain.scored import BUDGET
from whyrank.rankers.opening import Given, rankers_of


def explain(
    ranker: Given,
    query: str | None = None,
    document: str | Path | Sequence[str] | None = None,
    *,
    versus: str | Path | None = None,
    top: int | None = None,
    hits: Hits | Path | str | list[Any] | dict[str, Any] | None = None,
    fields: Fields | None = None,
    collection: str | Collection | None = None,
    run: TrecRun | Path | str | None = None,
    remove: str = "replace",
    budget: int = BUDGET,
    heads: bool = False,
    matching: str | None = None,
    semantic_bm: Path | str | None = None,
    strip_html: bool = False,
    device: str = "cpu",
    out: Path | str | None = None,
    caller: Caller = SILENT,
) -> Explanation:
    """The words behind a score: of the document, of the query, those that matter only together; what was cut off;
    how the ranker's family computes the score.

    `document` is a text, a text file, or the id of one of the candidates (`hits`, a `run` with its `collection`,
    or a list of texts as `document`) or of the `collection`; without it the candidate that the ranker puts first
    is explained. `versus`: another document; of the two the one that scores higher is explained against the other.
    `top`: why the document is not among the first `top` candidates, and what would lift it there.

    `remove`: words are replaced by fillers, which keep the others in their place, or deleted (`delete`). `budget`
    bounds how many texts are scored for each document. `strip_html`: markup is taken out of the texts.

    `heads`: which heads carry the leading word's effect. `matching`: the heads of a cross-encoder that match words
    (`0.8,1.7`; by default those that are known of the model); `semantic_bm`: a run of `semantic_bm` over it, which
    says how far that account follows the score.
    """
    opened = None if collection is None else collection_of(collection, caller)
    (model,) = rankers_of(ranker, opened, caller, device)
    listed = document if isinstance(document, list | tuple) else ()
    material = asked(
        query, documents=listed, hits=hits, fields=fields, run=run, collection=opened, strip_html=strip_html,
        caller=caller,
    )  # fmt: skip
    chosen = None if listed or document is None else str(document)
    inside = Inside.of(model, matching, semantic_bm, heads)
    question = Question.of(model, material, chosen, versus, top, remove, budget, inside)
    with Run.open(out, Explanation.COMMAND, question.inputs(), caller) as place:
        result = place.finished(Explanation)
        if result is None:
            result = question.answer(place)
            place.save(result)
        return result
