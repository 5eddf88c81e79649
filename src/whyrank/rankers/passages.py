"""Long documents by passages: a document's score is that of its best passage."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from whyrank.core.progress import Progress
from whyrank.rankers.dual import Share
from whyrank.rankers.neural import NeuralRanker
from whyrank.rankers.ranker import Pair, Ranker, Scores


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
        windows = {pair: self.passages(*pair) for pair in dict.fromkeys(pairs)}
        flat = [(pair[0], passage) for pair, passages in windows.items() for passage in passages]
        share = Share(progress, len(pairs), len(flat))
        scored, cut = self.inner.scores(flat, share)
        starts = np.cumsum([0, *map(len, windows.values())])[:-1]
        best = dict(zip(windows, np.maximum.reduceat(scored, starts), strict=True)) if flat else {}
        share.finish()
        return Scores(np.array([best[pair] for pair in pairs], dtype=np.float32), min(cut, len(pairs)))

    def passages(self, query: str, text: str) -> list[str]:
        """The document itself if it fits beside the query, else windows that do."""
        if len(self.inner.document_tokens(query, text)) <= self.inner.document_length:
            return [text]
        around = len(self.inner.document_tokens(query, ""))
        return list(self.inner.pieces.windows(text, max(1, self.inner.document_length - around)))
