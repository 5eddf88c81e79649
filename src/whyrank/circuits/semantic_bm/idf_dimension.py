"""The IDF dimension of a ranker: U0, the first left singular vector of its word embeddings, by token."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch

from whyrank.circuits.semantic_bm.results import U0, Anchor
from whyrank.collections.idf import TokenIdf
from whyrank.core.errors import UserError
from whyrank.encoders.spectrum import Spectrum
from whyrank.evaluation.correlation import independent_pearson
from whyrank.evaluation.estimate import Estimate
from whyrank.rankers.cross_encoder import CrossEncoder


@dataclass(frozen=True, eq=False)
class IdfDimension:
    """U0 [V], its sign chosen so that it falls with IDF: f = -U0 is how rare a token is to the model.

    `anchor` is the token where U0 is largest, `source` the IDF by which the sign was chosen, and `r` says how well
    the two go together over whole words; neither is known of a dimension that was made again.
    """

    u0: np.ndarray
    anchor: Anchor
    source: str = ""
    r: Estimate = field(default_factory=Estimate.undefined)

    @classmethod
    def of(cls, ranker: CrossEncoder, idf: TokenIdf) -> IdfDimension:
        """By the IDF of whole words. The sign changes how coefficients read, never what the model predicts."""
        weights = ranker.encoder.word_embeddings
        rarity = np.where(idf.whole, idf.of("bm25"), np.nan)[: len(weights)]
        if np.isfinite(rarity).sum() < 2:
            raise UserError("too few words have an IDF", where=idf.source, todo="give another idf")
        u0 = Spectrum.of(weights, 1).oriented(torch.from_numpy(rarity)).left[:, 0].numpy()
        found = independent_pearson(rarity, u0[: len(rarity)])
        largest = int(np.argmax(np.abs(u0)))
        r = Estimate.of(found.r, found.interval, found.n, 0)
        return cls(u0, Anchor(largest, float(u0[largest])), idf.source, r)

    @classmethod
    def again(cls, ranker: CrossEncoder, anchor: Anchor) -> IdfDimension:
        """The same vector made again from the weights: one token's value is enough to know the sign."""
        u0 = Spectrum.of(ranker.encoder.word_embeddings, 1).left[:, 0].numpy()
        if not (0 <= anchor.token < len(u0) and anchor.value):
            raise UserError(
                "field u0.anchor: not a token of this ranker and its value", todo="fit the model again"
            )
        return cls(u0 * (np.sign(u0[anchor.token]) * np.sign(anchor.value)), anchor)

    def described(self) -> U0:
        """As the result holds it."""
        return U0(self.source, self.r, self.anchor)

    def rarity(self, ids: np.ndarray) -> np.ndarray:
        """f = -U0 of these tokens."""
        return -self.u0[ids]
