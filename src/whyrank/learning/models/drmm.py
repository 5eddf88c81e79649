"""DRMM (Guo et al. 2016): for each query word, how many document words are how similar, and what that is worth.

    h_i,b   = log(1 + #{j: cos(q_i, d_j) in bin b})      29 bins of one width on [-1, 1), and one for q_i = d_j
    z_i     = tanh(w_2 . tanh(W_1 h_i + b_1) + b_2)      30-5-1
    gate_i  = softmax_i(w IDF_i)
    g(q, d) = sum_i gate_i z_i

An exact match is the same unit (a word, or a word piece), not a cosine of 1, which rounding may miss. Word vectors
are frozen. IDF = ln((N - df + 0.5)/(df + 0.5) + 1), so a word of no document is the rarest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import torch
from torch import Tensor, nn
from torch.nn import functional

from whyrank.core.errors import UserError
from whyrank.core.parameters import at_least
from whyrank.learning.models.lexicon import PADDING, Lexicon, Reading
from whyrank.learning.models.network import Ingredients, NetworkSettings, Output
from whyrank.learning.models.words import WordNetwork, WordSettings


@dataclass(frozen=True)
class DrmmSettings(WordSettings):
    """`bins` are those of the cosine, `hidden` the units between a histogram and its value."""

    bins: int = 29
    hidden: int = 5

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least("bins", self.bins, 1)
        at_least("hidden", self.hidden, 1)


class Drmm(WordNetwork):
    """Histograms of word similarities, weighed by rarity."""

    name: ClassVar[str] = "drmm"
    Settings: ClassVar[type[NetworkSettings]] = DrmmSettings
    idf: Tensor

    def __init__(self, settings: DrmmSettings, lexicon: Lexicon, idf: Tensor | None) -> None:
        """`idf` [V + 1] is the IDF of each unit, and last of a unit that the lexicon does not know; None where a
        state that has it is to be loaded."""
        super().__init__(settings, lexicon, untrained=idf is None)
        self.register_buffer("idf", torch.zeros(1) if idf is None else idf)
        self.value = nn.Sequential(
            nn.Linear(settings.bins + 1, settings.hidden), nn.Tanh(), nn.Linear(settings.hidden, 1), nn.Tanh()
        )
        self.gate = nn.Parameter(torch.ones(()))

    @classmethod
    def of(cls, settings: DrmmSettings, ingredients: Ingredients) -> Self:
        if ingredients.untrained:
            return cls(settings, settings.lexicon(ingredients, learned=False), None)
        if ingredients.collection is None:
            raise UserError("drmm weighs words by their IDF", todo="give a collection to count them in")
        lexicon = settings.lexicon(ingredients, learned=False)
        collection = ingredients.collection
        idf = ingredients.once(
            f"idf {settings.vectors}", lambda: inverse_frequencies(*lexicon.frequencies(collection))
        )
        return cls(settings, lexicon, idf.clone())

    def output(self, batch: Reading) -> Output:
        asked = batch.query != PADDING
        values = self.value(self.histograms(batch))[..., 0]
        return Output((self.gates(batch.query, asked) * values * asked).sum(dim=1), {})

    @torch.no_grad()
    def histograms(self, batch: Reading) -> Tensor:
        """h [B, m, bins + 1]. Cosines have double precision: where a rounding moved one over the edge of a bin, a
        score would depend on what else is in its batch. They are computed once for each two units."""
        (asked, query), (units, document) = (
            part.unique(return_inverse=True) for part in (batch.query, batch.document)
        )
        bins = self.settings.bins
        cosines = self._directions(asked, batch) @ self._directions(units, batch).mT
        bin_of = ((cosines + 1) / 2 * bins).floor().long().clamp(0, bins - 1)
        bin_of[asked[:, None] == units] = bins
        places = bin_of[query[:, :, None], document[:, None, :]]
        counted = (batch.document != PADDING)[:, None, :].expand(places.shape)
        counts = self.idf.new_zeros(*batch.query.shape, bins + 1)
        return counts.scatter_add_(2, places, counted.to(counts.dtype)).log1p()

    def _directions(self, units: Tensor, batch: Reading) -> Tensor:
        """The unit vectors [U, d] of some units, in double precision."""
        return functional.normalize(self.lexicon.embed(units, batch.unknown).double(), dim=-1)

    def gates(self, query: Tensor, asked: Tensor) -> Tensor:
        """softmax_i(w IDF_i) [B, m] over the units that are not padding."""
        weights = self.gate * self.idf[query.clamp(0, len(self.lexicon))]
        return weights.masked_fill(~asked, torch.finfo(weights.dtype).min).softmax(dim=1)


def inverse_frequencies(frequencies: Tensor, documents: int) -> Tensor:
    """The IDF of each unit [V + 1], the last of a unit that no document has."""
    df = torch.cat([frequencies, frequencies.new_zeros(1)])
    return ((documents - df + 0.5) / (df + 0.5) + 1).log().float()
