"""A document's words in two parts, related and unrelated to the query: Eq. 14 and 15."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from whyrank.learning.models.pooling import counts, largest
from whyrank.learning.models.sides import Sides


class Parts(NamedTuple):
    """The means over the query's words of Z_dr and of Z_dn, [B, d] each."""

    related: Tensor
    unrelated: Tensor


class Decomposition(nn.Module):
    """A = sigmoid((W_q Z_q)(W_d Z_d)^T), [m, n];  Z_dr = A Z_d,  Z_dn = (1 - A) Z_d, [m, d] each.

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
        """A [C, Q, S], 0 in rows of `span` that are no words of the query. W_d goes to the query's few words."""
        asking = self.query(words[:, sides.span]) @ self.document.weight
        return torch.sigmoid(asking @ words.mT) * sides.chunks.query[:, sides.span, None]
