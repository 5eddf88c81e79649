"""CEDR-KNRM (MacAvaney et al. 2019): K-NRM on the similarities of contextual word pieces, in every layer.

    M_l,ij = cos(E_l,q_i, E_l,d_j)                          l = 0 (the embedding output) to L
    g(q, d) = w . [phi(M_0), ..., phi(M_L), CLS] + b        phi: eleven kernels, see `kernels`; L' = L + 1

Over chunks, a kernel sums over the words of the whole document, each compared with the query as it was read
beside it, and CLS is the mean. With `query_states=first` all are compared with the query of the first chunk, as
in the authors' code.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import torch
from torch import Tensor, nn
from torch.nn import functional

from whyrank.core.parameters import at_least
from whyrank.learning.models.backbone import Backbone
from whyrank.learning.models.chunker import Chunker
from whyrank.learning.models.chunks import Chunks
from whyrank.learning.models.kernels import KERNELS, kernel_sums, soft_frequencies
from whyrank.learning.models.network import Ingredients, NetworkSettings, Output, TransformerNetwork
from whyrank.learning.settings_values import one_of

QUERY_STATES = ("own", "first")


@dataclass(frozen=True)
class CedrSettings(NetworkSettings):
    """At most so many `chunks` of a document are read; each logarithm of a kernel is multiplied by `log_scale`."""

    chunks: int = 4
    query_states: str = "own"
    log_scale: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least("chunks", self.chunks, 1)
        one_of("query_states", self.query_states, QUERY_STATES)
        at_least("log_scale", self.log_scale, 0)


class CedrKnrm(TransformerNetwork):
    """Kernels on all layers, beside the [CLS] of the last."""

    name: ClassVar[str] = "cedr-knrm"
    Settings: ClassVar[type[NetworkSettings]] = CedrSettings

    def __init__(self, settings: CedrSettings, backbone: Backbone) -> None:
        super().__init__(settings, backbone, Chunker(backbone.pieces, settings.max_length, settings.chunks))
        self.score = nn.Linear((backbone.layers + 1) * len(KERNELS) + backbone.width, 1)

    @classmethod
    def of(cls, settings: CedrSettings, ingredients: Ingredients) -> Self:
        return cls(settings, ingredients.backbone())

    def head(self, states: list[Tensor], chunks: Chunks) -> Output:
        soft = [self._kernels(layer, chunks) for layer in states]
        cls = chunks.mean_over_chunks(states[-1][:, 0])
        return Output(self.score(torch.cat([*soft, cls], dim=1))[:, 0], {})

    def _kernels(self, state: Tensor, chunks: Chunks) -> Tensor:
        """phi [B, 11] of one layer's states [C, S, d]; a query's pieces stand from position 1 on in each chunk."""
        longest = int(chunks.query.sum(dim=1).max())
        unit = functional.normalize(state, dim=-1)
        asked = unit[:, 1 : 1 + longest]
        if self.settings.query_states == "first":
            asked = asked[chunks.first[chunks.owner]]
        sums = chunks.sum_over_chunks(kernel_sums(asked @ unit.mT, chunks.document))
        query = chunks.query[chunks.first, 1 : 1 + longest]
        return soft_frequencies(sums, query, self.settings.log_scale)
