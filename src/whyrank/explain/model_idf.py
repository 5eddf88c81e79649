"""How rare a ranker itself takes a word to be: the word's place on U_0 of its embedding matrix."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from whyrank.edits.dial import Dial, UnclearSign
from whyrank.edits.term_pieces import pieces_of
from whyrank.rankers.neural import NeuralRanker

#: The column of a word's place on U_0.
MODEL_IDF = "model's IDF"


@dataclass(frozen=True, eq=False)
class ModelIdf:
    """A ranker's dial, and U_0 of its whole words."""

    dial: Dial
    whole: Tensor

    @classmethod
    def of(cls, ranker: NeuralRanker) -> ModelIdf | None:
        """None where U_0 says nothing about rarity."""
        try:
            dial = Dial.of(ranker)
        except UnclearSign:
            return None
        known = torch.from_numpy(dial.idf.whole)
        return cls(dial, dial.u0[: len(known)][known])

    def share(self, word: str) -> float | None:
        """The share of whole words that the model takes to be more common than a word (its rarest piece)."""
        pieces = pieces_of(self.dial.ranker.pieces.tokenizer, word)
        return float((self.whole > min(self.dial.u0[i] for i in pieces)).float().mean()) if pieces else None

    def rarity(self, ids: np.ndarray) -> np.ndarray:
        """f = -U_0 of these tokens."""
        found: np.ndarray = -self.dial.u0.numpy()[ids]
        return found
