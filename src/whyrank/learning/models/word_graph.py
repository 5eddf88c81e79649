"""The word graph of an example, Eq. 8-10, as one S x S matrix a chunk: the literal form.

    s = (W E)(W E)^T / sqrt(d)
    heuristic   A = softmax(s + eps (1 - M)), a row at a time, with eps so low that what M leaves out is exactly 0
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
