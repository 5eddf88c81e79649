"""Chunks as the opened pass carries them: one sequence an example, each token with what it is part of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from whyrank.encoders.inputs import Inputs
from whyrank.learning.models.chunks import ROLES, Chunks


@dataclass(frozen=True)
class OpenedChunks(Inputs):
    """Inputs that remember the role of each token [B, S], as `ROLES` count them from 1; others are 0."""

    roles: Tensor | None = None

    @classmethod
    def of_chunks(cls, chunks: Chunks) -> Self:
        """The chunks' own inputs; there must be one chunk an example."""
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
