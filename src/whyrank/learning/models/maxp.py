"""BERT-MaxP (Dai and Callan 2019): a document is as good as the best of its passages.

g(q, d) = max_p (w . dropout(CLS_p) + b)        passages of 150 words, each 75 after the one before
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
from whyrank.learning.settings_values import share


@dataclass(frozen=True)
class MaxPSettings(NetworkSettings):
    """Passages of so many words (`passage`), one every `stride` words; at most so many (`chunks`) are read."""

    passage: int = 150
    stride: int = 75
    chunks: int = 16
    dropout: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least("stride", self.stride, 1)
        at_least("passage", self.passage, self.stride)
        at_least("chunks", self.chunks, 1)
        share("dropout", self.dropout)


class BertMaxP(TransformerNetwork):
    """Vanilla BERT on each passage, and the best of the scores."""

    name: ClassVar[str] = "bert-maxp"
    Settings: ClassVar[type[NetworkSettings]] = MaxPSettings
    reads_cls_only: ClassVar[bool] = True

    def __init__(self, settings: MaxPSettings, backbone: Backbone) -> None:
        chunker = Chunker(backbone.pieces, settings.max_length, settings.chunks, settings.passage, settings.stride)
        super().__init__(settings, backbone, chunker)
        self.dropout = nn.Dropout(settings.dropout)
        self.score = nn.Linear(backbone.width, 1)

    @classmethod
    def of(cls, settings: MaxPSettings, ingredients: Ingredients) -> Self:
        return cls(settings, ingredients.backbone())

    def head(self, states: list[Tensor], chunks: Chunks) -> Output:
        scores, there = chunks.side_by_side(self.score(self.dropout(states[-1][:, 0]))[:, 0])
        return Output(scores.masked_fill(~there, -torch.inf).max(dim=1).values, {})
