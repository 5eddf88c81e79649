"""`explain`: why does this document score as it does, why is it above that one, why is it not on top?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from whyrank.collections.collection import Collection
from whyrank.collections.given import collection_of
from whyrank.collections.hits import Fields, Hits
from whyrank.collections.records import Run as TrecRun
from whyrank.core.caller import SILENT, Caller
from whyrank.core.errors import UserError
from whyrank.core.runs import Run
from whyrank.explain.explanation import Explanation, Versus, WhyNot, Words
from whyrank.explain.material import Asked, Candidate, asked
from whyrank.explain.mechanism import Explained, mechanism_of
from whyrank.explain.removal import removal
from whyrank.explain.scored import BUDGET, ScoredTexts
from whyrank.explain.truncation import truncation_of
from whyrank.explain.versus import versus_of
from whyrank.explain.why_not import why_not
from whyrank.explain.words import WordSearch
from whyrank.rankers.given import Given, rankers_of
from whyrank.rankers.ranker import Ranker


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
    """
    opened = None if collection is None else collection_of(collection, caller)
    (model,) = rankers_of(ranker, opened, caller, device)
    listed = document if isinstance(document, list | tuple) else ()
    material = asked(
        query, documents=listed, hits=hits, fields=fields, run=run, collection=opened, strip_html=strip_html,
        caller=caller,
    )  # fmt: skip
    chosen = None if listed or document is None else str(document)
    question = _Question.of(model, material, chosen, versus, top, remove, budget)
    with Run.open(out, Explanation.COMMAND, question.inputs(), caller) as place:
        result = place.finished(Explanation)
        if result is None:
            result = question.answer(place)
            place.save(result)
        return result


@dataclass(frozen=True)
class _Question:
    """What is explained: the higher of two documents where there are two."""

    ranker: Ranker
    query: str
    document: Candidate
    versus: Candidate | None
    candidates: tuple[Candidate, ...]
    top: int | None
    remove: str
    budget: int

    @classmethod
    def of(
        cls,
        ranker: Ranker,
        material: Asked,
        document: str | None,
        versus: str | Path | None,
        top: int | None,
        remove: str,
        budget: int,
    ) -> _Question:
        sources, query = material.sources, material.query
        removal(remove, ranker, query, ".")  # refuses an unknown way before anything is scored
        candidates = sources.texts() if document is None or top is not None else ()
        if top is not None and (document is None or len(candidates) < 2):
            raise UserError("top is for a document among candidates", todo="give document, and hits or a run")
        if document is None and not candidates:
            raise UserError("there is no document to explain", todo="give document, or hits, or a run")
        chosen = sources.document(document) if document is not None else _first(ranker, query, candidates)
        other = None if versus is None else sources.document(versus)
        if other is not None and other.text == chosen.text:
            raise UserError("both documents have the same text", todo="give two that differ")
        if other is not None and _first(ranker, query, (chosen, other)) is other:
            sources.caller.say(f"{other.name} scores higher than {chosen.name}: it is explained")
            chosen, other = other, chosen
        return cls(ranker, query, chosen, other, candidates if top else (), top, remove, budget)

    def inputs(self) -> dict[str, Any]:
        """All that the answer depends on."""
        return {
            "ranker": self.ranker.fingerprint(), "query": self.query, "document": vars(self.document),
            "versus": None if self.versus is None else vars(self.versus),
            "candidates": [vars(one) for one in self.candidates], "top": self.top, "remove": self.remove,
            "budget": self.budget,
        }  # fmt: skip

    def answer(self, place: Run) -> Explanation:
        texts = self._texts(place)
        truncation = truncation_of(texts, self.query, self.document.text)  # first: words take all that is left
        search, found = self._words(self.document, texts)
        explained = Explained(texts, self.query, search.text, search.removal, found.query_terms, found.terms)
        result = Explanation(
            ranker=self.ranker.name, source=str(self.ranker.source), query=self.query,
            docid=self.document.docid, document=self.document.text, way=self.remove,
            filler=search.removal.filler, **vars(found),
            truncation=truncation,
            mechanism=mechanism_of(explained),
        )  # fmt: skip
        if self.versus is not None:
            result = replace(result, versus=self._against(self.versus, texts, search, found, place))
        if self.top is not None:
            result = replace(result, why_not=self._why_not(self.top, texts, search, found, place))
        return result

    def _texts(self, place: Run) -> ScoredTexts:
        return ScoredTexts(self.ranker, self.budget, place.progress)

    def _words(self, document: Candidate, texts: ScoredTexts) -> tuple[WordSearch, Words]:
        search = WordSearch(
            texts, self.query, document.text, partial(removal, self.remove, self.ranker, self.query)
        )
        return search, search.found()

    def _against(
        self, other: Candidate, texts: ScoredTexts, search: WordSearch, found: Words, place: Run
    ) -> Versus:
        others = self._texts(place)
        below, words = self._words(other, others)
        texts.take(others)
        return versus_of(texts, other, found, words, (search.without, below.without))

    def _why_not(self, top: int, texts: ScoredTexts, search: WordSearch, found: Words, place: Run) -> WhyNot:
        best = _first(self.ranker, self.query, self.candidates)
        carried = () if best.text == self.document.text else self._words(best, self._texts(place))[1].terms
        texts.allow(len(self.candidates) + self.budget // 2)
        return why_not(texts, self.query, self.document, found, self.candidates, top, search.without, carried)


def _first(ranker: Ranker, query: str, candidates: Sequence[Candidate]) -> Candidate:
    """The candidate that the ranker puts first."""
    scores = ranker.score([(query, one.text) for one in candidates])
    return candidates[int(scores.argmax())]
