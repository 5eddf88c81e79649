"""Changes of rows of the embedding matrix: made in place, taken back bit for bit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from whyrank.core.errors import UserError
from whyrank.rankers.cross_encoder import PAIRS_AT_A_TIME, CrossEncoder
from whyrank.rankers.dual import SIDES, DualRanker
from whyrank.rankers.neural import NeuralRanker
from whyrank.rankers.ranker import Pair
from whyrank.rankers.sparse import Sparse
from whyrank.text.pieces import Sequenced


@dataclass(frozen=True, eq=False)
class RowChange:
    """What is added to the rows of some tokens: `rows` [tokens, d], in double precision."""

    tokens: tuple[int, ...]
    rows: Tensor

    @classmethod
    def none(cls, ranker: NeuralRanker) -> RowChange:
        """Nothing is added to any row."""
        return cls((), torch.zeros((0, ranker.encoder.word_embeddings.shape[1]), dtype=torch.float64))

    @property
    def norms(self) -> Tensor:
        """How far each row moves."""
        return self.rows.norm(dim=1)

    @property
    def moved(self) -> list[int]:
        """The tokens whose row is another afterwards."""
        return [token for token, norm in zip(self.tokens, self.norms.tolist(), strict=True) if norm]


class Undo:
    """The rows as they were before a change; calling it puts them back, bit for bit."""

    def __init__(self, ranker: NeuralRanker, tokens: Sequence[int]) -> None:
        self.ranker, self.tokens = ranker, list(tokens)
        self.rows = ranker.encoder.word_embeddings.detach()[self.tokens].clone()

    def __call__(self) -> None:
        with torch.no_grad():
            self.ranker.encoder.word_embeddings[self.tokens] = self.rows


def apply(ranker: NeuralRanker, change: RowChange) -> Undo:
    """Changes the ranker's embedding matrix in place; the result takes the change back.

    In a sparse ranker whose output matrix is its embedding matrix (SPLADE), both change. A scorer taken with
    `long_scorer()` before the change may remember texts as they were encoded then: take a new one.
    """
    undo = Undo(ranker, change.tokens)
    matrix = ranker.encoder.word_embeddings
    with torch.no_grad():
        rows = (undo.rows.double() + change.rows.to(matrix.device)).to(matrix.dtype)
        if not torch.isfinite(rows).all():
            raise UserError("the edit is too large for the numbers of this ranker", todo="give a smaller scale")
        matrix[undo.tokens] = rows
    return undo


@contextmanager
def applied(ranker: NeuralRanker, change: RowChange) -> Iterator[NeuralRanker]:
    """The ranker as it is with the change, inside of the block only, whatever happens there.

    with applied(ranker, dial.change(Edit.of(up={"berlin": 5}))):
        ranker.rank(query, documents)
    """
    undo = apply(ranker, change)
    try:
        yield ranker
    finally:
        undo()


def reads_any(ranker: NeuralRanker, tokens: Sequence[int], pairs: Sequence[Pair]) -> np.ndarray:
    """Which of the pairs the ranker reads with any of these tokens: [pairs]. No other score can change with the
    tokens' rows."""
    if not rows_are_local(ranker):
        return np.ones(len(pairs), dtype=bool)
    wanted = set(tokens)
    met = [not all(wanted.isdisjoint(one.ids) for one in read) for read in sequences_read(ranker, pairs)]
    return np.array(met, dtype=bool)


def rows_are_local(ranker: NeuralRanker) -> bool:
    """Whether a row of the embedding matrix matters only where its token stands.

    It does not in a sparse ranker whose output matrix is its embedding matrix, and nobody knows of a family that
    is not known here.
    """
    if isinstance(ranker, Sparse):
        output = ranker.model.get_output_embeddings()
        return output is not None and output.weight.data_ptr() != ranker.encoder.word_embeddings.data_ptr()
    return isinstance(ranker, CrossEncoder | DualRanker)


def sequences_read(ranker: NeuralRanker, pairs: Sequence[Pair]) -> Iterator[tuple[Sequenced, ...]]:
    """For each pair the sequences that the encoder reads, cut, with all that the family adds to the texts."""
    if isinstance(ranker, DualRanker):
        sides = []
        for i, side in enumerate(SIDES):
            texts = list(dict.fromkeys(pair[i] for pair in pairs))
            sides.append(dict(zip(texts, ranker.sequences(texts, side), strict=True)))
        yield from ((sides[0][query], sides[1][text]) for query, text in pairs)
        return
    for start in range(0, len(pairs), PAIRS_AT_A_TIME):
        yield from ((one,) for one in ranker.pieces.pairs(pairs[start : start + PAIRS_AT_A_TIME]))
