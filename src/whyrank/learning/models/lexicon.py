"""The units that DRMM and Conv-KNRM compare, by number, with their vectors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from whyrank.collections.collection import Collection
from whyrank.rankers.ranker import Pair

#: Stands after the last unit of a text.
PADDING = -1


@dataclass(frozen=True)
class Reading:
    """B examples as the numbers of their units: queries [B, m] and documents [B, n], padded on the right.

    Numbers from the lexicon's size on are units that it does not know, whose vectors are `strangers` [k, d].
    `cut` counts the examples of which not all was read.
    """

    query: Tensor
    document: Tensor
    strangers: Tensor
    cut: int = 0

    @property
    def examples(self) -> int:
        return len(self.query)


class Lexicon(nn.Module, ABC):
    """Units with their vectors [V, d], which are learned on or stay as they are."""

    vectors: Tensor

    def __init__(self, vectors: Tensor, learned: bool) -> None:
        super().__init__()
        if learned:
            self.vectors = nn.Parameter(vectors)
        else:
            self.register_buffer("vectors", vectors)

    @abstractmethod
    def numbers(self, text: str, new: dict[str, int]) -> list[int]:
        """The numbers of a text's units; a unit that is not known is added to the `new` ones, or was."""

    @abstractmethod
    def frequencies(self, collection: Collection) -> tuple[Tensor, int]:
        """In how many documents each unit is [V], and how many documents there are."""

    def strangers(self, new: dict[str, int]) -> Tensor:
        """The vectors [k, d] of the new units; here there are none."""
        return self.vectors.new_zeros(0, self.width)

    def __len__(self) -> int:
        return len(self.vectors)

    @property
    def width(self) -> int:
        return self.vectors.shape[1]

    def read(self, pairs: Sequence[Pair], most: int) -> Reading:
        """The texts' units, at most so many of each."""
        new: dict[str, int] = {}
        texts = [(self.numbers(query, new), self.numbers(text, new)) for query, text in pairs]
        queries, documents = zip(*texts, strict=True)
        cut = sum(max(len(query), len(document)) > most for query, document in texts)
        return Reading(self._padded(queries, most), self._padded(documents, most), self.strangers(new), cut)

    def _padded(self, texts: Sequence[list[int]], most: int) -> Tensor:
        longest = max(1, min(most, max(map(len, texts))))
        rows = [(text + [PADDING] * longest)[:longest] for text in texts]
        return torch.tensor(rows, device=self.vectors.device)

    def embed(self, numbers: Tensor, strangers: Tensor) -> Tensor:
        """The vectors [B, n, d] of some numbers [B, n], zero where they are padding."""
        found = functional.embedding(numbers.clamp(0, len(self) - 1), self.vectors)
        if len(strangers):
            unknown = strangers[(numbers - len(self)).clamp_min(0)]
            found = torch.where((numbers >= len(self))[..., None], unknown, found)
        return found * (numbers != PADDING)[..., None]


def document_texts(collection: Collection) -> Iterator[str]:
    return (text for _, text in collection.documents())
