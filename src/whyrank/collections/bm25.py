"""BM25 over a collection: the first stage, and an exact yardstick for any text and any word.

The scores are those of bm25s' method `lucene`, with exact document lengths (Lucene itself rounds them to a
byte), in double precision (Kamphuis et al., ECIR 2020, table 1, 'Lucene (accurate)'):

    score(q, d) = sum over t in q of  idf(t) * tf(t, d) / (tf(t, d) + k1 * (1 - b + b * |d| / avgdl))
    idf(t)      = ln(1 + (N - df(t) + 0.5) / (df(t) + 0.5))

A term that stands twice in the query counts twice. There is no factor k1 + 1: it would not change a ranking.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from whyrank.collections.collection import Collection
from whyrank.collections.records import Document, Retrieved, Run
from whyrank.core.errors import UserError
from whyrank.text import Analyzer

if TYPE_CHECKING:
    import numpy as np


class TermScore(NamedTuple):
    """What a query term adds to a score: `contribution` counts each of its occurrences in the query."""

    term: str
    tf: int
    df: int
    idf: float
    contribution: float


class BM25Index:
    """The terms of a collection, and their weights in each document. Holds no text."""

    def __init__(
        self,
        documents: Collection | Iterable[Document],
        analyzer: Analyzer | None = None,
        k1: float = 0.9,
        b: float = 0.4,
    ) -> None:
        if not (k1 >= 0 and 0 <= b <= 1):
            raise UserError(f"BM25 with k1={k1}, b={b}", todo="k1 must be 0 or more, b between 0 and 1")
        usual = documents.analyzer if isinstance(documents, Collection) else Analyzer()
        self.analyzer, self.k1, self.b = analyzer or usual, k1, b
        self.name = documents.name if isinstance(documents, Collection) else "documents"
        rows = documents.documents() if isinstance(documents, Collection) else documents
        self.docnos: list[str] = []
        self._vocabulary: dict[str, int] = {}
        self._index, self.average_length = self._build(list(self._terms_of(rows)))

    def __len__(self) -> int:
        """N, the number of documents."""
        return len(self.docnos)

    def __repr__(self) -> str:
        return f"<BM25Index {self.name}: {len(self)} documents, k1={self.k1}, b={self.b}, {self.analyzer}>"

    def df(self, term: str) -> int:
        """How many documents hold a term (as the analyzer writes it)."""
        number = self._vocabulary.get(term)
        begin = self._index.scores["indptr"]
        return 0 if number is None else int(begin[number + 1] - begin[number])

    def idf(self, term: str) -> float:
        """ln(1 + (N - df + 0.5) / (df + 0.5)); also for a term that no document holds."""
        df = self.df(term)
        return math.log(1 + (len(self) - df + 0.5) / (df + 0.5))

    def scores(self, query: str) -> np.ndarray:
        """The score of every document, in the order of `docnos`."""
        terms = self._query_terms(query)
        return self._index.get_scores_from_ids([self._vocabulary[t] for t in terms if t in self._vocabulary])

    def search(self, query: str, k: int = 1000) -> list[tuple[str, float]]:
        """The best `k` of the documents that hold a query term; ties by descending docno, as in trec_eval."""
        import numpy as np

        if k < 1:
            raise UserError(f"cannot retrieve {k} documents", todo="ask for 1 or more")
        scores = self.scores(query)
        least = np.partition(scores, -k)[-k] if k < len(scores) else 0.0
        found = np.flatnonzero((scores >= least) & (scores > 0)).tolist()
        pairs = [(self.docnos[i], float(scores[i])) for i in found]
        return sorted(sorted(pairs, reverse=True), key=lambda pair: -pair[1])[:k]

    def score(self, query: str, text: str) -> float:
        """The score that any text would have, by this index's N, df and avgdl."""
        return math.fsum(term.contribution for term in self.explain(query, text))

    def explain(self, query: str, text: str) -> list[TermScore]:
        """The query's terms, each once, with what it adds to the score of a text; 0 for one that is not there."""
        terms = self.analyzer(text)
        length_norm = self.k1 * (1 - self.b + self.b * len(terms) / self.average_length)
        counts = Counter(terms)
        repeats = Counter(self.analyzer(query))
        return [self._term_score(term, counts[term], times, length_norm) for term, times in repeats.items()]

    def _term_score(self, term: str, tf: int, times: int, length_norm: float) -> TermScore:
        idf = self.idf(term)
        return TermScore(term, tf, self.df(term), idf, times * idf * tf / (tf + length_norm) if tf else 0.0)

    def _query_terms(self, query: str) -> list[str]:
        terms = self.analyzer(query)
        if not terms:
            raise UserError(f"the query {query!r} has no word to search for", todo="give it one")
        return terms

    def _terms_of(self, documents: Iterable[Document]) -> Iterable[array[int]]:
        """Each document's terms as numbers of the vocabulary, which grows on the way."""
        seen: set[str] = set()
        for docno, text in documents:
            if docno in seen:
                raise UserError(f"document {docno!r} appears twice", where=self.name, todo="keep one of them")
            seen.add(docno)
            self.docnos.append(docno)
            terms = self.analyzer(text)
            yield array("i", [self._vocabulary.setdefault(term, len(self._vocabulary)) for term in terms])

    def _build(self, terms: list[array[int]]) -> tuple[Any, float]:
        """bm25s' index, and the average length in terms."""
        import bm25s

        if not self._vocabulary:
            raise UserError("there is no word in these documents to index", where=self.name)
        index = bm25s.BM25(k1=self.k1, b=self.b, method="lucene", dtype="float64")
        index.index((terms, self._vocabulary), create_empty_token=False, show_progress=False)
        return index, sum(map(len, terms)) / len(terms)


def first_stage(collection: Collection, k: int = 1000, index: BM25Index | None = None) -> Run:
    """BM25's best `k` documents for each query of a collection."""
    index = index or BM25Index(collection)
    return {qid: _retrieved(index, collection.name, qid, text, k) for qid, text in collection.queries.items()}


def _retrieved(index: BM25Index, name: str, qid: str, text: str, k: int) -> list[Retrieved]:
    try:
        pairs = index.search(text, k)
    except UserError as error:
        raise UserError(error.what, where=f"{name}, query {qid!r}", todo=error.todo) from error
    return [Retrieved(qid, docno, rank, score, "bm25") for rank, (docno, score) in enumerate(pairs, start=1)]
