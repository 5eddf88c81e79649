"""Conv-KNRM (Dai et al. 2018): kernel pooling over the similarities of n-grams of every length with every other.

    g^h_i        = relu(W^h [t_i; ...; t_(i+h-1)] + b^h)        h = 1, 2, 3; 128 filters; zeros after the text
    M^(hq,hd)_ij = cos(g^hq_i of the query, g^hd_j of the document)
    g(q, d)      = w . [phi(M^(1,1)), ..., phi(M^(3,3))] + b    phi: eleven kernels, see `kernels`

One n-gram begins at each word. The authors' code multiplies each logarithm in phi by 0.01 (`log_scale`; 1 is what
the equations say), and learns the word vectors on (`train_vectors`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import torch
from torch import Tensor, nn
from torch.nn import functional

from whyrank.core.parameters import at_least
from whyrank.learning.models.kernels import KERNELS, kernel_sums, soft_frequencies
from whyrank.learning.models.lexicon import PADDING, Lexicon, Reading
from whyrank.learning.models.network import Ingredients, NetworkSettings, Output
from whyrank.learning.models.words import WordNetwork, WordSettings


@dataclass(frozen=True)
class ConvKnrmSettings(WordSettings):
    """N-grams have 1 to `ngrams` units."""

    train_vectors: bool = True
    ngrams: int = 3
    filters: int = 128
    log_scale: float = 0.01

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least("ngrams", self.ngrams, 1)
        at_least("filters", self.filters, 1)
        at_least("log_scale", self.log_scale, 0)


class ConvKnrm(WordNetwork):
    """Soft matches of n-grams."""

    name: ClassVar[str] = "conv-knrm"
    Settings: ClassVar[type[NetworkSettings]] = ConvKnrmSettings

    def __init__(self, settings: ConvKnrmSettings, lexicon: Lexicon, untrained: bool = False) -> None:
        super().__init__(settings, lexicon, untrained)
        self.filters = nn.ModuleList(
            nn.Conv1d(lexicon.width, settings.filters, size) for size in range(1, settings.ngrams + 1)
        )
        self.score = nn.Linear(settings.ngrams**2 * len(KERNELS), 1)

    @classmethod
    def of(cls, settings: ConvKnrmSettings, ingredients: Ingredients) -> Self:
        lexicon = settings.lexicon(ingredients, learned=settings.train_vectors)
        return cls(settings, lexicon, ingredients.untrained)

    def output(self, batch: Reading) -> Output:
        asked, counted = batch.query != PADDING, batch.document != PADDING
        queries, documents = (
            self.ngrams(self.lexicon.embed(part, batch.unknown)) for part in (batch.query, batch.document)
        )
        matches = [
            soft_frequencies(kernel_sums(query @ document.mT, counted), asked, self.settings.log_scale)
            for query in queries
            for document in documents
        ]
        return Output(self.score(torch.cat(matches, dim=1))[:, 0], {})

    def ngrams(self, vectors: Tensor) -> list[Tensor]:
        """The n-grams of each length as unit vectors [B, n, filters], of word vectors [B, n, d] that are zero in
        the padding."""
        return [
            functional.normalize(torch.relu(convolve(functional.pad(vectors, (0, 0, 0, size - 1)).mT)).mT, dim=-1)
            for size, convolve in enumerate(self.filters, start=1)
        ]

    def slow(self) -> list[nn.Parameter]:
        """The word vectors, where they are learned on."""
        return list(self.lexicon.parameters())
