"""BM25 as a ranker: exact for any text, in the collection or not, with each term's share of the score."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from whyrank.collections.bm25 import BM25Index, TermScore
from whyrank.core.progress import Progress
from whyrank.rankers.ranker import Pair, Ranker, Scores, Source
from whyrank.text.words import Analyzer

if TYPE_CHECKING:
    from whyrank.collections.collection import Collection


class Lexical(Ranker):
    """BM25 with the statistics (N, df, average length) of a collection."""

    kind = "lexical"

    def __init__(self, index: BM25Index, collection: Collection) -> None:
        self.index, self.name, self._content = index, "bm25", collection.fingerprint()
        self.source = Source(f"counted in {collection.name}", f"exact, k1={index.k1}, b={index.b}")

    @classmethod
    def over(
        cls, collection: Collection, *, k1: float = 0.9, b: float = 0.4, analyzer: Analyzer | None = None
    ) -> Lexical:
        """Counts the collection's words; `analyzer` says what a word is (default: stems of its language)."""
        return cls(BM25Index(collection, analyzer=analyzer, k1=k1, b=b), collection)

    def fingerprint(self) -> str:
        counted = repr((self.index.k1, self.index.b, self.index.analyzer, self._content))
        return hashlib.sha256(counted.encode()).hexdigest()

    def scores(self, pairs: Sequence[Pair], progress: Progress | None = None) -> Scores:
        values = np.empty(len(pairs), dtype=np.float64)
        for i, (query, text) in enumerate(pairs):
            values[i] = self.index.score(query, text)
            if progress:
                progress(1)
        return Scores(values, cut=0)

    def explain(self, query: str, text: str) -> list[TermScore]:
        """What each query term adds: the contributions sum to the score."""
        return self.index.explain(query, text)
