"""PARADE (Li et al. 2020): passages are read one by one, and their vectors are merged.

g(q, d) = w . dropout(a(CLS_1, ..., CLS_P)) + b        passages of 150 words that share 50

avg          a = 1/P sum_p CLS_p
max          a_i = max_p CLS_p,i
attention    a = sum_p softmax_p(v . CLS_p) CLS_p
transformer  a = the first row of two transformer layers on (e, CLS_1, ..., CLS_P), e learned; with `positions`
             each has a learned vector of its place added, as in the authors' code: without, passages are a set
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import torch
from torch import Tensor, nn

from whyrank.core.parameters import at_least
from whyrank.learning.models.backbone import Backbone
from whyrank.learning.models.chunker import Chunker
from whyrank.learning.models.chunks import Chunks
from whyrank.learning.models.network import Ingredients, NetworkSettings, Output, TransformerNetwork
from whyrank.learning.settings_values import one_of, share

#: The spread that BERT's own embeddings start with.
INITIAL_SPREAD = 0.02


@dataclass(frozen=True)
class ParadeSettings(NetworkSettings):
    """Passages of so many words (`passage`), which share `overlap` with the one before; at most so many
    (`chunks`) are read. `layers`, `positions` and `dropout`, too, are those of the transformer that aggregates."""

    aggregation: str = "transformer"
    layers: int = 2
    positions: bool = False
    passage: int = 150
    overlap: int = 50
    chunks: int = 16
    dropout: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("aggregation", self.aggregation, tuple(AGGREGATIONS))
        at_least("layers", self.layers, 1)
        at_least("overlap", self.overlap, 0)
        at_least("passage", self.passage, self.overlap + 1)
        at_least("chunks", self.chunks, 1)
        share("dropout", self.dropout)


class Parade(TransformerNetwork):
    """Passages aggregated as vectors."""

    name: ClassVar[str] = "parade"
    Settings: ClassVar[type[NetworkSettings]] = ParadeSettings
    reads_cls_only: ClassVar[bool] = True

    def __init__(self, settings: ParadeSettings, backbone: Backbone) -> None:
        stride = settings.passage - settings.overlap
        chunker = Chunker(backbone.pieces, settings.max_length, settings.chunks, settings.passage, stride)
        super().__init__(settings, backbone, chunker)
        self.aggregate = AGGREGATIONS[settings.aggregation](settings, backbone.width, backbone.encoder.heads)
        self.dropout = nn.Dropout(settings.dropout)
        self.score = nn.Linear(backbone.width, 1)

    @classmethod
    def of(cls, settings: ParadeSettings, ingredients: Ingredients) -> Self:
        return cls(settings, ingredients.backbone())

    def head(self, states: list[Tensor], chunks: Chunks) -> Output:
        together = self.aggregate(*chunks.side_by_side(states[-1][:, 0]))
        return Output(self.score(self.dropout(together))[:, 0], {})


class Aggregation(nn.Module):
    """From passages [B, P, d], some of them not `there` [B, P], to one vector [B, d]."""

    def __init__(self, settings: ParadeSettings, width: int, heads: int) -> None:
        super().__init__()


class Average(Aggregation):
    def forward(self, passages: Tensor, there: Tensor) -> Tensor:
        return (passages * there[..., None]).sum(dim=1) / there.sum(dim=1, keepdim=True)


class Maximum(Aggregation):
    def forward(self, passages: Tensor, there: Tensor) -> Tensor:
        return passages.masked_fill(~there[..., None], -torch.inf).max(dim=1).values


class Attention(Aggregation):
    def __init__(self, settings: ParadeSettings, width: int, heads: int) -> None:
        super().__init__(settings, width, heads)
        self.weigh = nn.Linear(width, 1, bias=False)

    def forward(self, passages: Tensor, there: Tensor) -> Tensor:
        weights = self.weigh(passages)[..., 0].masked_fill(~there, -torch.inf).softmax(dim=1)
        return (weights[..., None] * passages).sum(dim=1)


class Transformer(Aggregation):
    def __init__(self, settings: ParadeSettings, width: int, heads: int) -> None:
        super().__init__(settings, width, heads)
        self.first = nn.Parameter(torch.randn(width) * INITIAL_SPREAD)
        places = torch.randn(settings.chunks + 1, width) * INITIAL_SPREAD if settings.positions else None
        self.places = None if places is None else nn.Parameter(places)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(width, heads, 4 * width, settings.dropout, batch_first=True)
            for _ in range(settings.layers)
        )

    def forward(self, passages: Tensor, there: Tensor) -> Tensor:
        x = torch.cat([self.first.expand(len(passages), 1, -1), passages], dim=1)
        if self.places is not None:
            x = x + self.places[: x.shape[1]]
        padding = torch.cat([there.new_zeros(len(there), 1), ~there], dim=1)
        for layer in self.layers:
            x = layer(x, src_key_padding_mask=padding)
        return x[:, 0]


AGGREGATIONS: dict[str, type[Aggregation]] = {
    "avg": Average,
    "max": Maximum,
    "attention": Attention,
    "transformer": Transformer,
}
