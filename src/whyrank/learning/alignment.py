"""Embeddings that follow a collection's IDF, from which a training can start."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from whyrank.collections.collection import Collection
from whyrank.collections.idf import TokenIdf
from whyrank.edits.align import aligned_rows, by_row
from whyrank.edits.dial import oriented_spectrum
from whyrank.rankers.cross_encoder import CrossEncoder


@dataclass(frozen=True, eq=False)
class AlignedEmbeddings:
    """A ranker's embedding matrix [V, d] with U_0 set to the IDF of so many `tokens` (see `edits.align`)."""

    rows: Tensor
    tokens: int

    @classmethod
    def of(cls, ranker: CrossEncoder, collection: Collection) -> AlignedEmbeddings:
        """By BM25's IDF, counted on the collection's documents; no judgement plays a part. U_0 is turned by the
        IDF of whole words, as `whyrank align` turns it."""
        matrix = ranker.encoder.word_embeddings
        texts = (text for _, text in collection.documents())
        counted = TokenIdf.counted(ranker.pieces.tokenizer, texts, collection.name)
        idf = by_row(counted, "bm25", len(matrix))
        rows = aligned_rows(matrix, oriented_spectrum(ranker, counted, 1), idf)
        return cls(rows, int(torch.isfinite(idf).sum()))

    def put_into(self, ranker: CrossEncoder) -> None:
        """Makes them the ranker's embeddings."""
        with torch.no_grad():
            ranker.encoder.word_embeddings.copy_(self.rows)
