"""What LGRe and DGRe do at each layer: from its states to a word graph, words refined by it (Eq. 11), and from all
layers to a score (Eq. 16 and 17)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from whyrank.learning.models.chunks import Chunks
from whyrank.learning.models.pooling import Packing, max_of_words, mean_of_words, quick_tanh_
from whyrank.learning.models.sides import Sides
from whyrank.learning.models.word_graph import (
    WordGraph,
    rectified_blocks,
    rectified_graph,
    similarities,
    softmax_blocks,
    softmax_graph,
)


@dataclass(frozen=True)
class GraphShape:
    """How graphs are made: which relations count, by which norm, with the projections W shared by all layers or
    one per layer, and whether always as S x S matrices."""

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


class GatedGraph(nn.Module):
    """T steps, with the same weights at each step and each layer.

        a = A x
        z = sigmoid(W_z a + U_z x)
        r = sigmoid(W_r a + U_r x)
        h = tanh(W_h a + U_h (r * x))
        x' = z * h + (1 - z) * x

    With `bias` each gate has one, as in LGRe's published code; the equations have none. `gate_*` are z and r one
    above the other, in one product.
    """

    def __init__(self, width: int, steps: int = 2, bias: bool = True) -> None:
        super().__init__()
        self.steps = steps
        self.gate_heard = nn.Linear(width, 2 * width, bias=bias)
        self.gate_word = nn.Linear(width, 2 * width, bias=False)
        self.new_heard = nn.Linear(width, width, bias=bias)
        self.new_word = nn.Linear(width, width, bias=False)

    def forward(self, state: Tensor, graph: WordGraph, packing: Packing) -> Tensor:
        """The refined words [N, d], packed, of a state [C, S, d]."""
        words = packing.pack(state)
        for _ in range(self.steps):
            words = self._step(packing.pack(graph.messages(packing.unpack(words))), words)
        return words

    def _step(self, heard: Tensor, words: Tensor) -> Tensor:
        """In place wherever the gradient does not need what was there: half the time beside the products is
        otherwise spent on moving memory."""
        gates = self.gate_heard(heard).addmm_(words, self.gate_word.weight.T).sigmoid_()
        update, reset = gates.chunk(2, dim=1)
        new = self.new_heard(heard).addmm_(reset * words, self.new_word.weight.T)
        return torch.lerp(words, quick_tanh_(new), update)


class GatedPool(nn.Module):
    """LGRe's read-out: the mean and the maximum, added, of sigmoid(w z + b) * tanh(W z + b) over all real tokens
    of an example, the same at each layer."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.attention = nn.Linear(width, 1)
        self.meaning = nn.Linear(width, width)

    def forward(self, tokens: Tensor, packing: Packing, chunks: Chunks) -> Tensor:
        """[B, d] of packed tokens [N, d]."""
        gated = torch.sigmoid(self.attention(tokens)) * quick_tanh_(self.meaning(tokens))
        words = packing.unpack(gated)
        return mean_of_words(words, chunks.real, chunks) + max_of_words(words, chunks)


class LayerReadout(nn.Module):
    """A layer's vectors side by side -> Linear -> its value; all values -> Linear -> g."""

    def __init__(self, width: int, layers: int, vectors: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.values = nn.ModuleList(nn.Linear(vectors * width, 1) for _ in range(layers))
        self.together = nn.Linear(layers, 1)
        self.dropout = nn.Dropout(dropout)

    def value(self, layer: int, vectors: Sequence[Tensor]) -> Tensor:
        """A layer's value [B], of its vectors [B, d]."""
        return self.values[layer](self.dropout(torch.cat(list(vectors), dim=1)))[:, 0]

    def forward(self, values: Tensor) -> Tensor:
        """g [B] of the values [B, layers]."""
        return self.together(values)[:, 0]
