"""One question to `explain`, its documents found, and how it is answered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from whyrank.collections.collection import Collection
from whyrank.core.errors import UserError
from whyrank.core.progress import Progress
from whyrank.core.runs import Run
from whyrank.explain.bm25 import bm25_account, bm25_over, stage_rank
from whyrank.explain.explained import Explained
from whyrank.explain.explanation import Explanation, Versus, WhyNot, Words
from whyrank.explain.heads import heads_of
from whyrank.explain.inside import Inside
from whyrank.explain.material import Asked, Candidate, Sources
from whyrank.explain.mechanism import mechanism_of
from whyrank.explain.removal import removal
from whyrank.explain.scored import ScoredTexts
from whyrank.explain.truncation import truncation_of
from whyrank.explain.versus import versus_of
from whyrank.explain.why_not import why_not
from whyrank.explain.words import WordSearch
from whyrank.rankers.lexical import Lexical
from whyrank.rankers.ranker import Ranker


@dataclass(frozen=True)
class Question:
    """What is explained: the higher of two documents where there are two."""

    ranker: Ranker
    query: str
    document: Candidate
    versus: Candidate | None
    candidates: tuple[Candidate, ...]
    top: int | None
    remove: str
    budget: int
    inside: Inside
    collection: Collection | None
    listed: tuple[Candidate, ...]

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
        inside: Inside,
    ) -> Question:
        sources, query = material.sources, material.query
        removal(remove, ranker, query, ".")  # refuses an unknown way before anything is scored
        candidates = sources.texts() if document is None or top is not None else ()
        if top is not None and (document is None or len(candidates) < 2):
            raise UserError("top is for a document among candidates", todo="give document, and hits or a run")
        if document is None and not candidates:
            raise UserError("there is no document to explain", todo="give document, or hits, or a run")
        chosen = sources.document(document) if document is not None else _best(ranker, query, sources, candidates)
        other = None if versus is None else sources.document(versus)
        if other is not None and other.text == chosen.text:
            raise UserError("both documents have the same text", todo="give two that differ")
        if other is not None and _first(ranker, query, (chosen, other)) is other:
            sources.caller.say(f"{other.name} scores higher than {chosen.name}: it is explained")
            chosen, other = other, chosen
        pool = candidates if top else ()
        return cls(
            ranker, query, chosen, other, pool, top, remove, budget, inside, sources.collection, sources.candidates
        )

    def inputs(self) -> dict[str, Any]:
        """All that the answer depends on."""
        return {
            "ranker": self.ranker.fingerprint(), "query": self.query, "document": vars(self.document),
            "versus": None if self.versus is None else vars(self.versus),
            "candidates": [vars(one) for one in self.candidates], "top": self.top, "remove": self.remove,
            "budget": self.budget, **self.inside.inputs(), "counted": self._counted(),
        }  # fmt: skip

    def _counted(self) -> object:
        """Where BM25 counts words."""
        if self.collection is not None:
            return self.collection.fingerprint()
        return [vars(one) for one in self.listed]

    def answer(self, place: Run) -> Explanation:
        texts = self._texts(place)
        truncation = truncation_of(texts, self.query, self.document.text)  # first: words take all that is left
        search, found = self._words(self.document, texts)
        bm25 = None if isinstance(self.ranker, Lexical) else bm25_over(self.collection, self.listed)
        explained = Explained(
            texts, self.query, search.text, search.removal, found.query_terms, found.terms, self.inside.matching,
            self.inside.fitted,
        )  # fmt: skip
        result = Explanation(
            ranker=self.ranker.name, source=str(self.ranker.source), query=self.query,
            docid=self.document.docid, document=self.document.text, way=self.remove,
            filler=search.removal.filler, **vars(found),
            truncation=truncation,
            mechanism=mechanism_of(explained),
            bm25=None if bm25 is None else bm25_account(bm25, explained),
            heads=heads_of(explained, self.inside.groups()) if self.inside.heads else None,
        )  # fmt: skip
        if self.versus is not None:
            result = replace(result, versus=self._against(self.versus, texts, search, found, place))
        if self.top is not None:
            why = self._why_not(self.top, texts, search, found, place)
            if bm25 is not None and not why.among_candidates:
                why = replace(why, stage=stage_rank(bm25, self.query, self.document.docid))
            result = replace(result, why_not=why)
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
        texts.allow(len(self.candidates) + self.budget // 2)
        texts.score("candidates", [(self.query, one.text) for one in self.candidates])
        best = max(self.candidates, key=lambda one: texts[self.query, one.text])
        carried = () if best.text == self.document.text else self._words(best, self._texts(place))[1].terms
        analyzer = None if self.collection is None else self.collection.analyzer
        return why_not(
            texts, self.query, self.document, found, self.candidates, top, search.without, carried, analyzer
        )


def _best(ranker: Ranker, query: str, sources: Sources, candidates: Sequence[Candidate]) -> Candidate:
    """The candidate that the ranker puts first; that is said."""
    if len(candidates) < 2:
        return candidates[0]
    with sources.caller.progress("candidates", len(candidates), "texts") as advance:
        best = _first(ranker, query, candidates, advance)
    sources.caller.say(f"{best.name} is explained: {ranker.name} puts it first of {len(candidates)}")
    return best


def _first(
    ranker: Ranker, query: str, candidates: Sequence[Candidate], progress: Progress | None = None
) -> Candidate:
    """The candidate that the ranker puts first."""
    scores = ranker.score([(query, one.text) for one in candidates], progress)
    return candidates[int(scores.argmax())]
