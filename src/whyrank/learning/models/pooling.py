"""From the words of chunks to one vector an example: means and maxima over all chunks of each."""

from __future__ import annotations

import torch
from torch import Tensor

from whyrank.learning.models.chunks import Chunks


def largest(values: Tensor, chunks: Chunks) -> Tensor:
    """[C, ...] -> [B, ...]: the largest over each example's chunks."""
    if len(chunks) == chunks.examples:
        return values
    owner = chunks.owner.view(-1, *[1] * (values.ndim - 1)).expand_as(values)
    room = values.new_zeros(chunks.examples, *values.shape[1:])
    return room.scatter_reduce(0, owner, values, "amax", include_self=False)


def counts(which: Tensor, chunks: Chunks) -> Tensor:
    """How many words [C, S] of each example are marked [B], at least 1."""
    return chunks.sum_over_chunks(which.sum(dim=1)).clamp(min=1)


def mean_of_words(words: Tensor, which: Tensor, chunks: Chunks) -> Tensor:
    """The mean [B, d] of an example's marked words; 0 where none is."""
    summed = torch.einsum("cs,csd->cd", which.to(words.dtype), words)
    return chunks.sum_over_chunks(summed) / counts(which, chunks)[:, None]


def max_of_words(words: Tensor, chunks: Chunks) -> Tensor:
    """The largest value [B, d] of each dimension among an example's real tokens."""
    if chunks.inputs.mask is not None:
        words = words.masked_fill(~chunks.real[:, :, None], -torch.inf)
    return largest(words.amax(dim=1), chunks)
