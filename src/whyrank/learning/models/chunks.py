"""A long document in pieces that a transformer can read: [CLS] query [SEP] piece [SEP], as often as needed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from whyrank.encoders.inputs import Inputs

#: What a token may be, except [CLS] and padding, which are 0.
ROLES = ("query", "document", "middle", "final")


@dataclass(frozen=True)
class Chunks:
    """B examples as C >= B chunks of at most S tokens, those of an example one after another.

    `owner` [C] is the example of each chunk. The masks [C, S] say which tokens are the query's word pieces, the
    document's, the separators between the two (`middle`) and the last one (`final`); [CLS] is position 0. Padding
    is none of these. `cut` counts the examples of which not all was read, or a passage not whole.
    """

    inputs: Inputs
    owner: Tensor
    examples: int
    query: Tensor
    document: Tensor
    middle: Tensor
    final: Tensor
    cut: int = 0

    def __len__(self) -> int:
        return len(self.owner)

    @property
    def real(self) -> Tensor:
        """The tokens [C, S] that are not padding."""
        return self.inputs.attention_mask

    @property
    def counts(self) -> Tensor:
        """How many chunks each example has [B]."""
        return torch.bincount(self.owner, minlength=self.examples)

    @property
    def first(self) -> Tensor:
        """The first chunk of each example [B]."""
        return self.counts.cumsum(dim=0) - self.counts

    def sum_over_chunks(self, values: Tensor) -> Tensor:
        """[C, ...] -> [B, ...]: each example's sum over its chunks."""
        if len(self) == self.examples:
            return values
        return values.new_zeros(self.examples, *values.shape[1:]).index_add(0, self.owner, values)

    def mean_over_chunks(self, values: Tensor) -> Tensor:
        """[C, ...] -> [B, ...]: each example's mean over its chunks."""
        counts = self.counts.to(values.dtype)
        return self.sum_over_chunks(values) / counts.view(-1, *[1] * (values.ndim - 1))

    def side_by_side(self, values: Tensor) -> tuple[Tensor, Tensor]:
        """[C, ...] -> [B, P, ...]: each example's chunks side by side, zeros after its last; and which of them
        are there [B, P]."""
        place = torch.arange(len(self), device=self.owner.device) - self.first[self.owner]
        there = torch.arange(int(self.counts.max()), device=place.device) < self.counts[:, None]
        padded = values.new_zeros(*there.shape, *values.shape[1:])
        return padded.index_put((self.owner, place), values), there


@dataclass(frozen=True)
class OpenedChunks(Inputs):
    """Inputs that remember the role of each token [B, S], as `ROLES` count them from 1; others are 0."""

    roles: Tensor | None = None

    @classmethod
    def of_chunks(cls, chunks: Chunks) -> Self:
        """The chunks' own inputs; there must be one chunk per example."""
        assert len(chunks) == chunks.examples, "an example of several chunks is no one sequence"
        roles = torch.zeros_like(chunks.inputs.ids)
        for number, name in enumerate(ROLES, start=1):
            roles[getattr(chunks, name)] = number
        inputs = chunks.inputs
        return cls(inputs.ids, inputs.types, inputs.mask, inputs.own_lengths, roles)

    def chunks(self) -> Chunks:
        """The chunks again, for a model's head."""
        assert self.roles is not None
        query, document, middle, final = (self.roles == number for number in range(1, len(ROLES) + 1))
        owner = torch.arange(len(self.ids), device=self.ids.device)
        return Chunks(self, owner, len(owner), query=query, document=document, middle=middle, final=final)

    def repeated(self, times: int) -> OpenedChunks:
        return self._with(super().repeated(times), None if self.roles is None else self.roles.expand(times, -1))

    def only(self, i: int) -> OpenedChunks:
        return self._with(super().only(i), None if self.roles is None else self.roles[i : i + 1])

    @staticmethod
    def _with(inputs: Inputs, roles: Tensor | None) -> OpenedChunks:
        return OpenedChunks(inputs.ids, inputs.types, inputs.mask, inputs.own_lengths, roles)
