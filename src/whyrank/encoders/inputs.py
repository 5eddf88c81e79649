"""What an encoder reads: token ids, which of them are padding, and their segment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor


class Tokenised(Protocol):
    """One tokenised text or pair of texts, as the tokenizers library gives it."""

    @property
    def ids(self) -> list[int]: ...

    @property
    def type_ids(self) -> list[int]: ...


@dataclass(frozen=True)
class Inputs:
    """A batch of token sequences, padded on the right; B sequences of at most S tokens.

    `mask` [B, S] is True at real tokens, and None when nothing is padded, which lets attention skip it.
    """

    ids: Tensor
    types: Tensor
    mask: Tensor | None = None

    @classmethod
    def of(cls, sequences: Sequence[Tokenised], pad_id: int, device: torch.device | str = "cpu") -> Inputs:
        """The sequences as one batch, padded to the longest."""
        lengths = [len(sequence.ids) for sequence in sequences]
        longest = max(lengths)
        ids = [sequence.ids + [pad_id] * (longest - n) for sequence, n in zip(sequences, lengths, strict=True)]
        types = [sequence.type_ids + [0] * (longest - n) for sequence, n in zip(sequences, lengths, strict=True)]
        mask = None
        if min(lengths) < longest:
            mask = torch.arange(longest, device=device) < torch.tensor(lengths, device=device)[:, None]
        return cls(torch.tensor(ids, device=device), torch.tensor(types, device=device), mask)

    @property
    def attention_mask(self) -> Tensor:
        """The mask, all True where nothing is padded."""
        return torch.ones_like(self.ids, dtype=torch.bool) if self.mask is None else self.mask

    @property
    def lengths(self) -> Tensor:
        """The number of real tokens of each sequence [B]."""
        return self.attention_mask.sum(dim=1)
