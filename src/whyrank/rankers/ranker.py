"""What every ranker can do, whatever is inside: score pairs, rank documents, take and give data frames."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

import numpy as np

from whyrank.core.errors import UserError
from whyrank.core.progress import Progress

if TYPE_CHECKING:
    import pandas as pd

    from whyrank.text.tokens import Tokens

Pair = tuple[str, str]


class Source(NamedTuple):
    """Where a ranker's weights came from and how exact they are."""

    place: str
    precision: str

    def __str__(self) -> str:
        return f"{self.place}, {self.precision}"


class Ranked(NamedTuple):
    """One document in a ranking."""

    rank: int
    docno: str
    score: float
    text: str


class Ranking(list[Ranked]):
    """The documents of one query, best first; ties by the order they were given in."""

    def __init__(self, query: str, ranked: Iterable[Ranked]) -> None:
        super().__init__(ranked)
        self.query = query

    def to_pandas(self) -> pd.DataFrame:
        """Columns query, docno, text, score, rank, as PyTerrier names them."""
        import pandas as pd

        rows = [(self.query, one.docno, one.text, one.score, one.rank) for one in self]
        return pd.DataFrame(rows, columns=["query", "docno", "text", "score", "rank"])


class Scores(NamedTuple):
    """The scores of some pairs, in their order, and how many of the pairs were cut to the model's length."""

    values: np.ndarray
    cut: int


#: Scores pairs, in their order, and tells the progress.
Scorer = Callable[[Sequence[Pair], Progress | None], Scores]


class Ranker(ABC):
    """Scores (query, document) pairs. `name` is what it was loaded by."""

    kind: str
    name: str
    source: Source

    @abstractmethod
    def scores(self, pairs: Sequence[Pair], progress: Progress | None = None) -> Scores:
        """The pairs' scores, with the count of those that did not fit."""

    def long_scorer(self) -> Scorer:
        """`scores`, for long work done in several calls: what was computed may be kept between them."""
        return self.scores

    @abstractmethod
    def fingerprint(self) -> str:
        """A hash of everything that decides this ranker's scores."""

    def characters_read(self, query: str, text: str) -> int:
        """How many characters of a document are read, beside this query, before it is cut: all, unless it cuts."""
        return len(text)

    def score(self, pairs: Iterable[Pair], progress: Progress | None = None) -> np.ndarray:
        """The scores of (query, document) pairs, in their order."""
        pairs = list(pairs)
        check_pairs(pairs)
        return self.scores(pairs, progress).values

    def rank(self, query: str, docs: Sequence[str] | Mapping[str, str]) -> Ranking:
        """The documents, best first. The keys of a mapping are their names; a list is numbered from 0."""
        if isinstance(docs, str):
            raise UserError("rank takes several documents, not one text", todo="give a list, or names and texts")
        named = dict(docs) if isinstance(docs, Mapping) else {str(i): text for i, text in enumerate(docs)}
        scores = self.score([(query, text) for text in named.values()])
        order = np.argsort(-scores, kind="stable")
        names = list(named)
        rows = (Ranked(rank, names[i], float(scores[i]), named[names[i]]) for rank, i in enumerate(order, start=1))
        return Ranking(query, rows)

    def transform(self, frame: pd.DataFrame) -> pd.DataFrame:
        """A data frame with qid, query, docno, text gets new `score` and `rank` columns (rank 0 is the best,
        as in PyTerrier), sorted by query and rank."""
        missing = {"qid", "query", "docno", "text"} - set(frame.columns)
        if missing:
            raise UserError(
                f"the data frame lacks {', '.join(sorted(missing))}", todo="give qid, query, docno, text"
            )
        scored = frame.assign(score=self.score(zip(frame["query"], frame["text"], strict=True)))
        ranks = scored.groupby("qid", sort=False)["score"].rank(method="first", ascending=False).astype(int) - 1
        return scored.assign(rank=ranks).sort_values(["qid", "rank"], kind="stable").reset_index(drop=True)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self.source})"


@runtime_checkable
class CutsDocuments(Protocol):
    """A ranker that reads no more than so many tokens of a document."""

    @property
    def document_length(self) -> int: ...

    def document_tokens(self, query: str, text: str) -> Tokens:
        """The whole document's tokens, as they are counted."""
        ...


def characters_within(tokens: Tokens, length: int, text: str) -> int:
    """How many characters of a text are read where a sequence may have so many tokens and the text is cut."""
    spans = [span for span in tokens.spans if span is not None]
    kept = length - (len(tokens) - len(spans))
    return len(text) if kept >= len(spans) else spans[kept - 1][1] if kept > 0 else 0


class ScoreNotFinite(UserError):
    """A score that is NaN or infinite, which says nothing about a document and cannot be ranked."""


def finite(values: np.ndarray, pairs: Sequence[Pair], name: str) -> np.ndarray:
    """The scores, if all are finite; else ScoreNotFinite with the first pair that has none."""
    wrong = np.flatnonzero(~np.isfinite(values))
    if len(wrong):
        query, document = pairs[wrong[0]]
        raise ScoreNotFinite(
            f"{name}: the score of query {_beginning(query)} and document {_beginning(document)} is "
            f"{values[wrong[0]]}; {len(wrong)} of {len(pairs)} scores are not finite",
            todo="the checkpoint is damaged: check its config and weights, or fetch it again",
        )
    return values


def _beginning(text: str, most: int = 60) -> str:
    """A text on one line, cut."""
    return repr(text if len(text) <= most else f"{text[:most]}...")


def check_pairs(pairs: Sequence[Pair]) -> None:
    """Raises for a pair with an empty side, which no ranker can score in a way that means anything."""
    for number, (query, document) in enumerate(pairs):
        if not query.strip():
            raise UserError(f"pair {number}: the query is empty", todo="give it at least one word")
        if not document.strip():
            raise UserError(f"pair {number}: the document is empty", todo="give it at least one word")
