"""Long documents by passages: a document's score is that of its best passage."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from whyrank.rankers.neural import NeuralRanker
from whyrank.rankers.ranker import Pair, Progress, Ranker, Scores

#: Queries are short; a passage leaves at least this many tokens for one.
ROOM_FOR_QUERY = 64


class BestPassage(Ranker):
    """score(q, d) = max over passages p of d of score(q, p) (Dai & Callan 2019, MaxP).

    Passages are half-overlapping windows as long as the model reads, cut at words; a document that fits
    is its own only passage and keeps its score.
    """

    def __init__(self, ranker: NeuralRanker) -> None:
        self.inner = ranker
        self.kind, self.name, self.source = ranker.kind, ranker.name, ranker.source

    def fingerprint(self) -> str:
        return f"best-passage:{self.inner.fingerprint()}"

    def scores(self, pairs: Sequence[Pair], progress: Progress | None = None) -> Scores:
        windows: dict[Pair, list[str]] = {}
        for query, text in pairs:
            windows.setdefault((query, text), self.passages(query, text))
        flat = [(pair[0], passage) for pair, passages in windows.items() for passage in passages]
        scored, cut = self.inner.scores(flat)
        starts = np.cumsum([0, *(len(passages) for passages in windows.values())])[:-1]
        best = dict(zip(windows, np.maximum.reduceat(scored, starts), strict=True)) if flat else {}
        if progress:
            progress(len(pairs))
        return Scores(np.array([best[pair] for pair in pairs], dtype=np.float32), cut)

    def passages(self, query: str, text: str) -> list[str]:
        """The windows of `text` that fit beside `query`."""
        pieces = self.inner.pieces
        taken = pieces.special_tokens_of_a_pair
        if self.inner.kind == "cross-encoder":
            taken += min(len(pieces.texts([query])[0].ids), pieces.max_length // 2)
        return list(pieces.windows(text, max(1, pieces.max_length - taken)))
