"""DGRe: a re-ranker that takes spurious word relations out of the graph, and the unrelated out of the document.

'Disentangled Graph Recurrent Network for Document Ranking' (Dong, Niu, Yuan & Li 2022). At each layer: the
adaptive word graph (Eq. 7-10, `word_graph`), words refined by it (Eq. 11, `gated_graph`), mixed (Eq. 12,
`dense_attention`), the document decomposed (Eq. 14/15, `decomposition`), a value read out; all values make the
score (Eq. 16/17, `layer_readout`). Trained by the rank loss, and lambda times the triangle of distances
(`distances`) and the mutual information of the parts (`critics`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from whyrank.core.errors import UserError
from whyrank.learning.models.backbone import Backbone
from whyrank.learning.models.checks import at_least, one_of, part
from whyrank.learning.models.chunks import Chunks
from whyrank.learning.models.critics import Critics
from whyrank.learning.models.decomposition import Decomposition
from whyrank.learning.models.dense_attention import DenseAttention
from whyrank.learning.models.graph_network import GraphNetwork, GraphSettings, LayerRead, Scene
from whyrank.learning.models.information import INFORMATION
from whyrank.learning.models.network import NetworkSettings, Output
from whyrank.learning.models.pooling import mean_of_words
from whyrank.learning.models.word_relations import WordRelations


@dataclass(frozen=True)
class DGReSettings(GraphSettings):
    """`decomposition`: Eq. 14/15, on or off; `per_length`: its parts divided by the document's length, which the
    equations do not. `scale`: Eq. 12 with 1/sqrt(d), which the equation has not. `information`: none, mine,
    infonce or club; `critic_width`, `critic_clip` and `critic_average` are the critics' hidden layer, the bound of
    their values, and the rate of MINE's moving average, 1 being none; `critic_norm`: they read layer-normalised
    vectors."""

    decomposition: bool = True
    per_length: bool = True
    scale: bool = True
    information: str = "mine"
    critic_width: int = 128
    critic_clip: float = 10.0
    critic_average: float = 0.01
    critic_norm: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("information", self.information, INFORMATION)
        at_least("critic_width", self.critic_width, 1)
        at_least("critic_clip", self.critic_clip, 1)
        part("critic_average", self.critic_average)
        if self.information != "none" and not self.decomposition:
            raise UserError(
                f"information cannot be '{self.information}' without the decomposition",
                todo="set information to none: there are no parts to tell apart",
            )


class DGRe(GraphNetwork):
    name = "dgre"
    Settings: ClassVar[type[NetworkSettings]] = DGReSettings

    def __init__(self, settings: Any, backbone: Backbone) -> None:
        super().__init__(settings, backbone, vectors=2 + settings.decomposition)
        width = backbone.width
        self.attention = DenseAttention(width, settings.scale)
        self.decomposition = Decomposition(width, settings.per_length) if settings.decomposition else None
        if settings.information != "none":
            how = settings.critic_width, settings.critic_clip, settings.critic_average, settings.critic_norm
            self.critics = Critics(width, settings.information, *how)

    def layer(self, layer: int, state: Tensor, scene: Scene) -> LayerRead:
        chunks, sides, packing = scene
        words = self.attention(self.refined(layer, state, scene), packing, chunks)
        parts = {
            "query": mean_of_words(words, chunks.query, chunks),
            "document": mean_of_words(words, chunks.document, chunks),
        }
        if self.decomposition is not None:
            parts |= self.decomposition(words, sides)._asdict()
            if self.settings.distance_of == "words":
                parts["related_words"] = self.decomposition.related_units(words, sides)
        cls = chunks.mean_over_chunks(state[:, 0])
        related = [parts["related"]] if self.decomposition is not None else []
        return LayerRead([self.pool(packing.pack(words), packing, chunks), *related, cls], parts)

    def losses(self, output: Output, queries: Sequence[int]) -> dict[str, Tensor]:
        """Rank, and lambda times the distance and I_rn + I_qn - I_qr."""
        found = super().losses(output, queries)
        if isinstance(self.critics, Critics):
            found["information"] = self.settings.weight * self.critics.loss(output.parts, queries)
        return found

    def critic_loss(self, output: Output, queries: Sequence[int]) -> Tensor | None:
        if not isinstance(self.critics, Critics):
            return super().critic_loss(output, queries)
        bounds = self.critics.objective(output.parts, queries)
        return None if bounds is None else -bounds

    @torch.no_grad()
    def vectors(self, batch: Chunks) -> dict[str, Tensor]:
        """The last layer's `query`, `document` and query-`related` vectors of each example [B, d]."""
        with self.evaluating():
            parts = self.output(batch).parts
        return {name: parts[name] for name in ("query", "document", "related") if name in parts}

    @torch.no_grad()
    def word_graph(self, batch: Chunks, masking: str | None = None, layer: int = -1) -> WordRelations:
        """The relations of an example's query words to its document words at one of the refined layers, under the
        model's masking or another."""
        with self.evaluating():
            return WordRelations.of(self, batch, masking, layer)
