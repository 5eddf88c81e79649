"""From refined words to a score: one value a layer and their weighted sum, Eq. 16 and 17."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from whyrank.learning.models.chunks import Chunks
from whyrank.learning.models.packing import Packing
from whyrank.learning.models.pooling import max_of_words, mean_of_words
from whyrank.learning.models.quick_tanh import quick_tanh_


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
