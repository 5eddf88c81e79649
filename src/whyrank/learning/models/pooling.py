"""From the words of chunks to one vector per example, and the real tokens packed without padding."""

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


class Packing:
    """From chunks [C, S, ...] to their N real tokens [N, ...] and back; a mere view where nothing is padded."""

    def __init__(self, chunks: Chunks) -> None:
        self._shape = chunks.inputs.ids.shape
        self._places = None if chunks.inputs.mask is None else chunks.real.flatten().nonzero()[:, 0]

    def pack(self, values: Tensor) -> Tensor:
        flat = values.flatten(0, 1)
        return flat if self._places is None else flat[self._places]

    def unpack(self, tokens: Tensor) -> Tensor:
        """The tokens in their places; padding is 0."""
        if self._places is not None:
            room = tokens.new_zeros(self._shape.numel(), *tokens.shape[1:])
            tokens = room.index_copy(0, self._places, tokens)
        return tokens.unflatten(0, self._shape)


def quick_tanh_(values: Tensor) -> Tensor:
    """tanh x = 2 sigmoid(2x) - 1, within the precision's rounding of 1; the values are overwritten."""
    return values.mul_(2).sigmoid_().mul(2).sub_(1)
