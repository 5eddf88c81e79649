"""Vanilla BERT: one linear layer on the [CLS] of the last layer, averaged over the document's chunks.

g(q, d) = w . dropout(1/C sum_c CLS_c) + b
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

from torch import Tensor, nn

from whyrank.core.parameters import at_least
from whyrank.learning.models.backbone import Backbone
from whyrank.learning.models.chunker import Chunker
from whyrank.learning.models.chunks import Chunks
from whyrank.learning.models.network import Ingredients, NetworkSettings, Output, TransformerNetwork
from whyrank.learning.settings_values import share


@dataclass(frozen=True)
class VanillaSettings(NetworkSettings):
    """At most so many `chunks` of a document are read, each as many tokens as fit."""

    chunks: int = 4
    dropout: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least("chunks", self.chunks, 1)
        share("dropout", self.dropout)


class VanillaBert(TransformerNetwork):
    """The paper's plainest transformer."""

    name: ClassVar[str] = "bert"
    Settings: ClassVar[type[NetworkSettings]] = VanillaSettings
    reads_cls_only: ClassVar[bool] = True

    def __init__(self, settings: VanillaSettings, backbone: Backbone) -> None:
        super().__init__(settings, backbone, Chunker(backbone.pieces, settings.max_length, settings.chunks))
        self.dropout = nn.Dropout(settings.dropout)
        self.score = nn.Linear(backbone.width, 1)

    @classmethod
    def of(cls, settings: VanillaSettings, ingredients: Ingredients) -> Self:
        return cls(settings, ingredients.backbone())

    def head(self, states: list[Tensor], chunks: Chunks) -> Output:
        cls = chunks.mean_over_chunks(states[-1][:, 0])
        return Output(self.score(self.dropout(cls))[:, 0], {})
