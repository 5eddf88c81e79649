"""Real tokens side by side, without the padding between them, for what is done to each token alone."""

from __future__ import annotations

from torch import Tensor

from whyrank.learning.models.chunks import Chunks


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
