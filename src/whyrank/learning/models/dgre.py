"""DGRe: a re-ranker that takes spurious word relations out of the graph, and the unrelated out of the document.

'Disentangled Graph Recurrent Network for Document Ranking' (Dong, Niu, Yuan & Li 2022). At each layer: the
adaptive word graph (Eq. 7-10, `word_graph`), words refined by it (Eq. 11, `graph_layers`), mixed (Eq. 12,
`DenseAttention`), the document decomposed (Eq. 14/15, `Decomposition`), a value read out; all values make the
score (Eq. 16/17, `graph_layers`). Trained by the rank loss, and lambda times the triangle of distances
(`distances`) and the mutual information of the parts (`information`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize, scaled_dot_product_attention

from whyrank.core.errors import UserError
from whyrank.core.parameters import at_least
from whyrank.learning.models.backbone import Backbone
from whyrank.learning.models.chunks import Chunks
from whyrank.learning.models.graph_network import GraphNetwork, GraphSettings, LayerRead, Scene, WordRelations
from whyrank.learning.models.information import INFORMATION, Critics
from whyrank.learning.models.network import NetworkSettings, Output
from whyrank.learning.models.pooling import Packing, counts, largest, mean_of_words
from whyrank.learning.models.sides import Sides
from whyrank.learning.settings_values import one_of, part


class Parts(NamedTuple):
    """The means over the query's words of Z_dr and of Z_dn, [B, d] each."""

    related: Tensor
    unrelated: Tensor


class Decomposition(nn.Module):
    """A document's words in two parts, related and unrelated to the query (Eq. 14 and 15):

    A = sigmoid((W_q Z_q)(W_d Z_d)^T), [m, n];  Z_dr = A Z_d,  Z_dn = (1 - A) Z_d, [m, d] each.

    With `per_length` both are divided by the number n of the document's words, without which long documents have
    long vectors; the equations do not. A document in chunks is one document of n words, each of which meets the
    copy of the query in its own chunk. Only the means over the query's m words are ever read, so these are made
    at once: the mean of A over its rows, times Z_d.
    """

    def __init__(self, width: int, per_length: bool = True) -> None:
        super().__init__()
        self.query = nn.Linear(width, width, bias=False)
        self.document = nn.Linear(width, width, bias=False)
        self.per_length = per_length

    def forward(self, words: Tensor, sides: Sides) -> Parts:
        """The parts of Z [C, S, d]."""
        chunks = sides.chunks
        share = self.relations(words, sides).sum(dim=1) / chunks.query.sum(dim=1, keepdim=True).clamp(min=1)
        both = torch.stack([share, 1 - share], dim=1) * chunks.document[:, None]
        summed = chunks.sum_over_chunks(both @ words)
        if self.per_length:
            summed = summed / counts(chunks.document, chunks)[:, None, None]
        return Parts(summed[:, 0], summed[:, 1])

    def related_units(self, words: Tensor, sides: Sides) -> Tensor:
        """The mean [B, d] of the unit vectors of the rows of Z_dr, for distances of words."""
        chunks = sides.chunks
        weights = self.relations(words, sides) * chunks.document[:, None]
        units = normalize(chunks.sum_over_chunks(weights @ words), dim=-1)
        return units.sum(dim=1) / largest(chunks.query.sum(dim=1), chunks).clamp(min=1)[:, None]

    def relations(self, words: Tensor, sides: Sides) -> Tensor:
        """A [C, Q, S], 0 in rows of `span` that are not words of the query. W_d goes to the query's few words."""
        asking = self.query(words[:, sides.span]) @ self.document.weight
        return torch.sigmoid(asking @ words.mT) * sides.chunks.query[:, sides.span, None]


class DenseAttention(nn.Module):
    """Every word as a mixture of all refined words of its chunk (Eq. 12), which no mask makes sparse:
    Z = softmax((W_a h)(W_h h)^T) h, padding masked.

    With `scale` the products are divided by sqrt(d), as attention usually is; the equation has no such factor. As
    W_a and W_h only ever meet as W_a^T W_h, that product is made once and applied to one side.
    """

    def __init__(self, width: int, scale: bool = True) -> None:
        super().__init__()
        self.asking = nn.Linear(width, width, bias=False)
        self.asked = nn.Linear(width, width, bias=False)
        self.factor = width**-0.5 if scale else 1.0

    def forward(self, tokens: Tensor, packing: Packing, chunks: Chunks) -> Tensor:
        """Z [C, S, d] of the packed h [N, d]; rows of padding are of no use."""
        both = self.asking.weight.T @ self.asked.weight
        asking, words = packing.unpack(tokens @ both)[:, None], packing.unpack(tokens)[:, None]
        mask = None if chunks.inputs.mask is None else chunks.real[:, None, None, :]
        return scaled_dot_product_attention(asking, words, words, attn_mask=mask, scale=self.factor)[:, 0]


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
