"""The two sides of a word graph, the query's words and the document's, and who is related to whom (Eq. 7)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from whyrank.learning.models.chunks import Chunks


@dataclass(frozen=True, eq=False)
class Sides:
    """Each word of one side is related to each of the other, in both directions, and every word to itself.

    `query` and `document` [C, S] mark the words of each side: the query's, and the document's with the last [SEP].
    LGRe's published code also puts [CLS] on the query's side and the middle [SEP] on the document's (`specials`),
    and relates words of the document's side to the next (`neighbours`). Words on neither side have only
    themselves. Words of different chunks are never related, so the graph of an example is block-diagonal: each
    chunk has its own copy of the query.
    """

    chunks: Chunks
    query: Tensor
    document: Tensor
    neighbours: bool = False

    @classmethod
    def of(cls, chunks: Chunks, specials: bool = False, neighbours: bool = False) -> Sides:
        query, document = chunks.query, chunks.document | chunks.final
        if specials:
            first = torch.zeros_like(query)
            first[:, 0] = True
            query, document = query | first, document | chunks.middle
        return cls(chunks, query, document, neighbours)

    @cached_property
    def span(self) -> slice:
        """The positions among which all words of the query's side are, in every chunk; never empty."""
        places = self.query.any(dim=0).nonzero()
        return slice(int(places[0]), int(places[-1]) + 1) if len(places) else slice(0, 1)

    @cached_property
    def across(self) -> Tensor:
        """Query's side x document's side [C, Q, S], for the positions of `span`."""
        return self.query[:, self.span, None] & self.document[:, None, :]

    def relations(self) -> Tensor:
        """The whole mask [C, S, S]."""
        across = self.query[:, :, None] & self.document[:, None, :]
        mask = across | across.mT | self.itself
        if self.neighbours:
            near = self.document[:, :-1] & self.document[:, 1:]
            mask = mask | torch.diag_embed(near, 1) | torch.diag_embed(near, -1)
        return mask

    def all_relations(self) -> Tensor:
        """The mask [C, S, S] that leaves out padding only."""
        real = self.chunks.real
        return (real[:, :, None] & real[:, None, :]) | self.itself

    @property
    def itself(self) -> Tensor:
        """The diagonal [S, S]; padding has it too, so that no row is without a relation."""
        return torch.eye(self.query.shape[1], dtype=torch.bool, device=self.query.device)
