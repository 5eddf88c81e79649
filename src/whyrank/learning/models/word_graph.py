"""The word graph of an example, Eq. 8-10: as one S x S matrix per chunk (the literal form), and in blocks.

    s = (W E)(W E)^T / sqrt(d)
    heuristic   A = softmax(s + eps (1 - M)), row by row, with eps so low that what M leaves out is exactly 0
    adaptive    G = ReLU(s + eps (1 - M)),  G' = G / |G|_inf,  A = expm1(G') / sum of the row's expm1(G')

`none` is the heuristic's softmax over all words of the chunk. A row of G without a positive entry stays 0: its
word gets no message. The diagonal is in M, and as s_ii = |W e_i|^2 / sqrt(d) is never negative, only a word whose
projection is 0 has such a row. `learned`, ours, asks a relation between two words to exceed a learned threshold
instead of 0; a word's relation to itself need not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from whyrank.learning.models.chunks import Chunks
from whyrank.learning.models.pooling import largest
from whyrank.learning.models.sides import Sides

MASKINGS = ("none", "heuristic", "adaptive", "learned")
#: The infinity norm of a graph: its largest element, or its largest sum of a row (the matrix norm).
NORMS = ("element", "row")


class WordGraph(Protocol):
    """The relations A between the words of each chunk."""

    def messages(self, words: Tensor) -> Tensor:
        """A x: what each word [C, S, d] hears."""

    def matrix(self) -> Tensor:
        """A [C, S, S]"""


@dataclass(frozen=True, eq=False)
class DenseGraph:
    """A as it is."""

    relations: Tensor

    def messages(self, words: Tensor) -> Tensor:
        return self.relations @ words

    def matrix(self) -> Tensor:
        return self.relations


def softmax_graph(similarities: Tensor, mask: Tensor) -> DenseGraph:
    """The softmax over the relations [C, S, S] that the mask lets through."""
    return DenseGraph(similarities.masked_fill(~mask, -torch.inf).softmax(dim=-1))


def rectified_graph(
    similarities: Tensor, sides: Sides, norm: str = "element", threshold: Tensor | None = None
) -> DenseGraph:
    """The adaptive graph: relations that are positive, or above the threshold, by their expm1."""
    if threshold is not None:
        similarities = similarities - threshold * ~sides.itself
    mask = sides.relations() & sides.chunks.real[:, :, None]
    weights = torch.relu(similarities) * mask
    sizes = weights.amax(dim=(1, 2)) if norm == "element" else weights.sum(dim=2).amax(dim=1)
    weights = torch.expm1(weights / by_example(sizes, sides.chunks)[:, None, None])
    return DenseGraph(weights / nonzero(weights.sum(dim=2, keepdim=True)))


def by_example(sizes: Tensor, chunks: Chunks) -> Tensor:
    """The norm of each chunk's whole example [C], from the norms of the chunks' own blocks; 1 where it is 0."""
    return nonzero(largest(sizes, chunks)[chunks.owner])


def nonzero(values: Tensor) -> Tensor:
    """The values with 1 for 0, to divide by."""
    return torch.where(values > 0, values, 1.0)


@dataclass(frozen=True, eq=False)
class BipartiteGraph:
    """A in blocks: query's side x document's side and the diagonal, never an S x S matrix.

    Under Eq. 7's mask nothing else is left of A. For 12 query words among 500 that is 20 times fewer entries to
    make, keep and multiply; the result is the dense graph's, entry by entry. The query's side stands at the Q
    positions of `span`.

    `own` [C, S] is the diagonal; `to_query` [C, Q, S] has the rows of the query's words, `to_document` [C, Q, S]
    the columns of the document's, which are weighted by row sums of their own.
    """

    own: Tensor
    to_query: Tensor
    to_document: Tensor
    span: slice

    def messages(self, words: Tensor) -> Tensor:
        heard = self.own[:, :, None] * words
        heard.baddbmm_(self.to_document.mT, words[:, self.span])
        heard[:, self.span] += self.to_query @ words
        return heard

    def matrix(self) -> Tensor:
        whole = torch.diag_embed(self.own)
        whole[:, self.span] += self.to_query
        whole[:, :, self.span] += self.to_document.mT
        return whole


def similarities(projected: Tensor, sides: Sides) -> tuple[Tensor, Tensor]:
    """s on the diagonal [C, S] and across [C, Q, S], of the projected words W E [C, S, d]."""
    scale = projected.shape[-1] ** -0.5
    own = torch.linalg.vecdot(projected, projected) * scale
    return own, (projected[:, sides.span] * scale) @ projected.mT


def softmax_blocks(own: Tensor, across: Tensor, sides: Sides) -> BipartiteGraph:
    """The heuristic graph: the softmax of each row."""
    across = across.masked_fill(~sides.across, -torch.inf)
    columns = torch.cat([own[:, None], across], dim=1).logsumexp(dim=1)
    rows = torch.cat([own[:, sides.span, None], across], dim=2).logsumexp(dim=2)
    asked = torch.where(sides.query[:, sides.span], rows, columns[:, sides.span])
    total = torch.cat([columns[:, : sides.span.start], asked, columns[:, sides.span.stop :]], dim=1)
    to_query = torch.exp(across - total[:, sides.span, None])
    return BipartiteGraph(torch.exp(own - total), to_query, torch.exp(across - total[:, None]), sides.span)


def rectified_blocks(
    own: Tensor, across: Tensor, sides: Sides, norm: str = "element", threshold: Tensor | None = None
) -> BipartiteGraph:
    """The adaptive graph."""
    if threshold is not None:
        across = across - threshold
    across, own = torch.relu(across) * sides.across, torch.relu(own) * sides.chunks.real
    if norm == "element":
        sizes = torch.maximum(across.amax(dim=(1, 2)), own.amax(dim=1))
    else:
        sizes = _row_sums(own, across, sides.span).amax(dim=1)
    sizes = by_example(sizes, sides.chunks)
    across, own = torch.expm1(across / sizes[:, None, None]), torch.expm1(own / sizes[:, None])
    total = nonzero(_row_sums(own, across, sides.span))
    to_query = across / total[:, sides.span, None]
    return BipartiteGraph(own / total, to_query, across / total[:, None], sides.span)


def _row_sums(own: Tensor, across: Tensor, span: slice) -> Tensor:
    """The sum of each row [C, S] of the whole symmetric matrix."""
    total = own + across.sum(dim=1)
    total[:, span] += across.sum(dim=2)
    return total
