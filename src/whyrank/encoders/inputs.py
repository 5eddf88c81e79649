"""What an encoder reads: token ids, which of them are padding, and their segment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor


class Tokenised(Protocol):
    """One tokenised text or pair of texts, as the tokenizers library returns it."""

    @property
    def ids(self) -> list[int]: ...

    @property
    def type_ids(self) -> list[int]: ...


@dataclass(frozen=True)
class Inputs:
    """A batch of token sequences, padded on the right; B sequences of at most S tokens.

    `mask` [B, S] is True at tokens that are attended to, and None when all are, which lets attention skip it.
    `lengths` [B] counts the real tokens: those attended to, and those after them that only attend.
    """

    ids: Tensor
    types: Tensor
    mask: Tensor | None = None
    own_lengths: Tensor | None = None

    @classmethod
    def of(cls, sequences: Sequence[Tokenised], pad_id: int, device: torch.device | str = "cpu") -> Inputs:
        """The sequences as one batch, padded to the longest."""
        lengths = [len(sequence.ids) for sequence in sequences]
        longest = max(lengths)
        ids = [sequence.ids + [pad_id] * (longest - n) for sequence, n in zip(sequences, lengths, strict=True)]
        types = [sequence.type_ids + [0] * (longest - n) for sequence, n in zip(sequences, lengths, strict=True)]
        seen = [n - getattr(sequence, "unattended", 0) for sequence, n in zip(sequences, lengths, strict=True)]
        mask = None
        if min(seen) < longest:
            mask = torch.arange(longest, device=device) < torch.tensor(seen, device=device)[:, None]
        own = torch.tensor(lengths, device=device)
        return cls(torch.tensor(ids, device=device), torch.tensor(types, device=device), mask, own)

    def repeated(self, times: int) -> Inputs:
        """A batch of one sequence, so many times."""
        mask = None if self.mask is None else self.mask.expand(times, -1)
        lengths = None if self.own_lengths is None else self.own_lengths.expand(times)
        return Inputs(self.ids.expand(times, -1), self.types.expand(times, -1), mask, lengths)

    def only(self, i: int) -> Inputs:
        """One sequence of the batch, as a batch of its own; it must be one of the longest."""
        mask = None if self.mask is None or bool(self.mask[i].all()) else self.mask[i : i + 1]
        lengths = None if self.own_lengths is None else self.own_lengths[i : i + 1]
        return Inputs(self.ids[i : i + 1], self.types[i : i + 1], mask, lengths)

    @property
    def attention_mask(self) -> Tensor:
        """The mask, all True where nothing is padded."""
        return torch.ones_like(self.ids, dtype=torch.bool) if self.mask is None else self.mask

    @property
    def lengths(self) -> Tensor:
        """The number of real tokens of each sequence [B]."""
        return self.attention_mask.sum(dim=1) if self.own_lengths is None else self.own_lengths
