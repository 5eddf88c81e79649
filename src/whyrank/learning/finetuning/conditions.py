"""The four ways to fine-tune: all parameters or the word embeddings only, from the checkpoint as it is or aligned.

Aligned means that the singular vector U_0 of the embedding matrix is first set to the collection's IDF (see
`edits.align`), by `AlignedEmbeddings`. The paper's names: A1 full, A2 aligned-full, B1 embeddings,
B2 aligned-embeddings.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from whyrank.collections.collection import Collection
from whyrank.collections.idf import TokenIdf
from whyrank.core.errors import UserError, nearest
from whyrank.edits.align import aligned_rows, by_row
from whyrank.edits.dial import oriented_spectrum
from whyrank.rankers.cross_encoder import CrossEncoder


@dataclass(frozen=True)
class Condition:
    """What is learned, and from where it starts."""

    name: str
    aligned: bool
    embeddings_only: bool

    def __str__(self) -> str:
        return self.name

    def parameters(self, ranker: CrossEncoder) -> list[Tensor]:
        """What is learned: everything, or the matrix W_E alone (not positions, not token types)."""
        if self.embeddings_only:
            return [ranker.encoder.word_embeddings]
        return list(ranker.model.parameters())


CONDITIONS = {
    condition.name: condition
    for condition in (
        Condition("full", aligned=False, embeddings_only=False),
        Condition("aligned-full", aligned=True, embeddings_only=False),
        Condition("embeddings", aligned=False, embeddings_only=True),
        Condition("aligned-embeddings", aligned=True, embeddings_only=True),
    )
}


def parse_conditions(text: str) -> tuple[Condition, ...]:
    """`full,aligned-full` as conditions, each once."""
    names = dict.fromkeys(name.strip() for name in text.split(",") if name.strip())
    unknown = [name for name in names if name not in CONDITIONS]
    if unknown or not names:
        what = f"unknown condition '{unknown[0]}'" if unknown else "no condition"
        todo = nearest(unknown[0], CONDITIONS) if unknown else f"choose of {', '.join(CONDITIONS)}"
        raise UserError(what, where="conditions", todo=todo)
    return tuple(CONDITIONS[name] for name in names)


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
