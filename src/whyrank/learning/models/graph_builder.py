"""From the states of a layer to its word graph, in blocks where the mask allows it."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from whyrank.learning.models.bipartite_graph import rectified_blocks, similarities, softmax_blocks
from whyrank.learning.models.packing import Packing
from whyrank.learning.models.sides import Sides
from whyrank.learning.models.word_graph import WordGraph, rectified_graph, softmax_graph


@dataclass(frozen=True)
class GraphShape:
    """How graphs are made: which relations count, by which norm, with the projections W shared by all layers or
    one a layer, and whether always as S x S matrices."""

    masking: str = "adaptive"
    norm: str = "element"
    shared_projection: bool = False
    dense: bool = False


class GraphBuilder(nn.Module):
    """The projections W of Eq. 8, and the thresholds where they are learned."""

    def __init__(self, width: int, layers: int, shape: GraphShape) -> None:
        super().__init__()
        self.shape = shape
        distinct = 1 if shape.shared_projection else layers
        self.projections = nn.ModuleList(nn.Linear(width, width, bias=False) for _ in range(distinct))
        self.thresholds = nn.Parameter(torch.zeros(layers)) if shape.masking == "learned" else None

    def forward(
        self, layer: int, state: Tensor, sides: Sides, packing: Packing, masking: str | None = None
    ) -> WordGraph:
        """The graph of a layer's state [C, S, d], under the model's masking or, to look at it, another."""
        masking = masking or self.shape.masking
        projection = self.projections[0 if self.shape.shared_projection else layer]
        projected = packing.unpack(projection(packing.pack(state)))
        if masking == "none" or sides.neighbours or self.shape.dense:
            return self._dense(layer, projected, sides, masking)
        own, across = similarities(projected, sides)
        if masking == "heuristic":
            return softmax_blocks(own, across, sides)
        return rectified_blocks(own, across, sides, self.shape.norm, self._threshold(layer, masking))

    def _dense(self, layer: int, projected: Tensor, sides: Sides, masking: str) -> WordGraph:
        found = projected @ projected.mT * projected.shape[-1] ** -0.5
        if masking in ("none", "heuristic"):
            return softmax_graph(found, sides.all_relations() if masking == "none" else sides.relations())
        return rectified_graph(found, sides, self.shape.norm, self._threshold(layer, masking))

    def _threshold(self, layer: int, masking: str) -> Tensor | None:
        return self.thresholds[layer] if self.thresholds is not None and masking == "learned" else None
