"""What SemanticBM is measured against: BM25, TF-IDF and query likelihood, counted once for all their settings.

With tf in the document, df and cf in the collection of N documents and C words, |d| words long (avgdl on average),
and each sum over the query's words, a word that stands twice counting twice:

    BM25              sum  ln(1 + (N - df + 0.5) / (df + 0.5)) tf / (tf + k1 (1 - b + b |d| / avgdl))
    TF-IDF            sum  (1 + ln tf) ln(N / df)                               over words that are there
    query likelihood  sum  ln( (tf + mu cf / C) / (|d| + mu) ) - ln( cf / C )   over words of the collection

Query likelihood is taken relative to the whole collection's (Dirichlet smoothing): the same order within a query,
and comparable between queries, which a pooled correlation needs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Protocol

import numpy as np

from whyrank.circuits.semantic_bm.samples import Candidate
from whyrank.collections.records import Document
from whyrank.evaluation.correlation import is_constant
from whyrank.text import Analyzer

#: What is tried; the grid holds the paper's k1 = 0.5, b = 0.9.
K1 = [round(0.1 * step, 1) for step in range(1, 31)]
B = [round(0.1 * step, 1) for step in range(11)]
MU = [10, 30, 100, 300, 1000, 3000, 10000]


class Lexical(Protocol):
    """The columns of the rivals by word."""

    def bm25(self, k1: float, b: float) -> np.ndarray: ...

    def tf_idf(self) -> np.ndarray: ...

    def query_likelihood(self, mu: float) -> np.ndarray: ...


@dataclass(frozen=True, eq=False)
class Counts:
    """Of n pairs, one entry for each pair and query word [R]: `pair` says whose it is, `times` how often the query
    has the word. `length` [n] counts the document's words."""

    pair: np.ndarray
    times: np.ndarray
    tf: np.ndarray
    df: np.ndarray
    cf: np.ndarray
    length: np.ndarray
    documents: int
    words: int

    @classmethod
    def of(
        cls, pairs: Sequence[Candidate], documents: Iterable[Document], analyzer: Analyzer | None = None
    ) -> Counts:
        """Two passes: the pairs' own words, and the collection's counts of those words only."""
        analyze = analyzer or Analyzer()
        queries = {text: Counter(analyze(text)) for text in dict.fromkeys(pair.query for pair in pairs)}
        texts = {pair.docno: Counter(analyze(pair.text)) for pair in pairs}
        df, cf, documents_read, words = _collection_counts(
            (analyze(text) for _, text in documents), {word for query in queries.values() for word in query}
        )
        rows = [
            (i, count, texts[one.docno][word], df[word], cf[word])
            for i, one in enumerate(pairs)
            for word, count in queries[one.query].items()
        ]
        pair, times, tf, own_df, own_cf = np.array(rows, dtype=np.int64).reshape(-1, 5).T
        length = np.array([texts[one.docno].total() for one in pairs])
        return cls(pair, times, tf, own_df, own_cf, length, documents_read, words)

    def bm25(self, k1: float, b: float) -> np.ndarray:
        norm = k1 * (1 - b + b * self.length * self.documents / self.words)[self.pair]
        idf = np.log(1 + (self.documents - self.df + 0.5) / (self.df + 0.5))
        return self._summed(
            idf * np.divide(self.tf, self.tf + norm, where=self.tf > 0, out=np.zeros(len(self.tf)))
        )

    def tf_idf(self) -> np.ndarray:
        there = self.tf > 0
        idf = np.log(self.documents / np.maximum(self.df, 1))
        return self._summed(np.where(there, (1 + np.log(np.where(there, self.tf, 1))) * idf, 0.0))

    def query_likelihood(self, mu: float) -> np.ndarray:
        known = self.cf > 0
        background = np.where(known, self.cf, 1) / self.words
        ratio = (self.tf / background + mu) / (self.length[self.pair] + mu)
        return self._summed(np.where(known, np.log(ratio), 0.0))

    def _summed(self, values: np.ndarray) -> np.ndarray:
        return np.bincount(self.pair, weights=self.times * values, minlength=len(self.length))


def _collection_counts(
    texts: Iterable[list[str]], wanted: set[str]
) -> tuple[Counter[str], Counter[str], int, int]:
    """df and cf of the wanted words, the number of documents and of words in all."""
    df, cf, documents, words = Counter[str](), Counter[str](), 0, 0
    for text in texts:
        found = Counter(word for word in text if word in wanted)
        df.update(found.keys())
        cf.update(found)
        documents, words = documents + 1, words + len(text)
    return df, cf, documents, words


#: Of a column: k1, b, mu.
Settings = dict[str, float]
#: A column for all pairs, and the setting that was chosen for it.
Chosen = tuple[np.ndarray, Settings]
#: Makes its column, given the scores of all pairs and the rows to choose a setting on.
Rival = Callable[[np.ndarray, np.ndarray], Chosen]
Rivals = Mapping[str, Rival]


def tuned(
    column: Callable[..., np.ndarray], grid: Mapping[str, Sequence[float]], scores: np.ndarray, train: np.ndarray
) -> Chosen:
    """The column of the setting with the highest Pearson with `scores` over the training rows."""
    settings = [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
    found = [_pearson(column(**one)[train], scores[train]) for one in settings]
    best = settings[int(np.argmax(found))]
    return column(**best), best


def lexical(counts: Lexical) -> Rivals:
    """The three rivals by name."""
    return {
        "bm25": lambda scores, train: tuned(counts.bm25, {"k1": K1, "b": B}, scores, train),
        "tf_idf": lambda scores, train: (counts.tf_idf(), {}),
        "query_likelihood": lambda scores, train: tuned(counts.query_likelihood, {"mu": MU}, scores, train),
    }


def _pearson(x: np.ndarray, y: np.ndarray) -> float:
    """r, or -1 where a column is constant: such a setting is never the best of several."""
    if is_constant(x) or is_constant(y):
        return -1.0
    return float(np.corrcoef(x, y)[0, 1])
