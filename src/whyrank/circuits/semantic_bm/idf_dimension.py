"""The IDF dimension of a ranker: U0, the first left singular vector of its word embeddings, one number a token."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from whyrank.collections.idf import TokenIdf
from whyrank.core.errors import UserError
from whyrank.encoders.spectrum import Spectrum
from whyrank.evaluation.correlation import independent_pearson
from whyrank.interventions.statistics import finite
from whyrank.rankers.cross_encoder import CrossEncoder


@dataclass(frozen=True, eq=False)
class IdfDimension:
    """U0 [V], its sign chosen so that it falls with IDF: f = -U0 is the rarity that the model gives a token.

    `told` says by which IDF the sign was chosen and how well the two go together, over whole words.
    """

    u0: np.ndarray
    told: dict[str, Any]

    @classmethod
    def of(cls, ranker: CrossEncoder, idf: TokenIdf) -> IdfDimension:
        """By the IDF of whole words. The sign changes how coefficients read, never what the model predicts."""
        weights = ranker.encoder.word_embeddings
        rarity = np.where(idf.whole, idf.of("bm25"), np.nan)[: len(weights)]
        if np.isfinite(rarity).sum() < 2:
            raise UserError("too few words have an IDF", where=idf.source, todo="give another --idf")
        u0 = Spectrum.of(weights, 1).oriented(torch.from_numpy(rarity)).left[:, 0].numpy()
        r, interval, words, _ = independent_pearson(rarity, u0[: len(rarity)])
        largest = int(np.argmax(np.abs(u0)))
        told = {"idf": idf.source, "r": finite(r), **interval.to_json()}
        return cls(u0, {**told, "words": words, "anchor": {"token": largest, "value": float(u0[largest])}})

    @classmethod
    def again(cls, ranker: CrossEncoder, told: dict[str, Any]) -> IdfDimension:
        """The same vector made again from the weights: one token's value is enough to know the sign."""
        u0 = Spectrum.of(ranker.encoder.word_embeddings, 1).left[:, 0].numpy()
        anchor = told["anchor"]
        if not (0 <= anchor["token"] < len(u0) and anchor["value"]):
            raise UserError(
                "field u0.anchor: not a token of this ranker and its value", todo="fit the model again"
            )
        return cls(u0 * (np.sign(u0[anchor["token"]]) * np.sign(anchor["value"])), told)

    def rarity(self, ids: np.ndarray) -> np.ndarray:
        """f = -U0 of these tokens."""
        return -self.u0[ids]
