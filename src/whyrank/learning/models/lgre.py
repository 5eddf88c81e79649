"""LGRe: DGRe's predecessor, a word graph with a softmax, words refined by it, and a value read out of each layer.

'Latent Graph Recurrent Network for Document Ranking' (Dong & Niu 2021). No mixing, no decomposition, no mutual
information: each layer's value is of the pooled refined words and [CLS]. By default the graph has the relations of
its published code: [CLS] and the middle [SEP] on their sides, and neighbouring words of the document.

    A_l = softmax(mask(E_l W_l (E_l W_l)^T / sqrt(d)))                  `word_graph`, heuristic
    X_l = T steps of the gated graph network with A_l, from E_l          `graph_layers`
    v_l = w_l [pool(X_l), E_l[CLS]],  g = w [v_1 .. v_L],  f = sigmoid(g)    `graph_layers`
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from whyrank.learning.models.graph_network import GraphNetwork, GraphSettings, LayerRead, Scene
from whyrank.learning.models.network import NetworkSettings


@dataclass(frozen=True)
class LGReSettings(GraphSettings):
    masking: str = "heuristic"
    specials: bool = True
    neighbours: bool = True
    gate_bias: bool = True


class LGRe(GraphNetwork):
    name = "lgre"
    Settings: ClassVar[type[NetworkSettings]] = LGReSettings

    def layer(self, layer: int, state: Tensor, scene: Scene) -> LayerRead:
        chunks, _, packing = scene
        pooled = self.pool(self.refined(layer, state, scene), packing, chunks)
        return LayerRead([pooled, chunks.mean_over_chunks(state[:, 0])], {})
