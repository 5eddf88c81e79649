"""The units that DRMM and Conv-KNRM compare, by number, with their vectors: word pieces here, words in
`word_lexicon`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from tokenizers import Encoding, Tokenizer
from torch import Tensor, nn
from torch.nn import functional

from whyrank.collections.collection import Collection
from whyrank.collections.idf import document_frequencies
from whyrank.learning.models.backbone import Backbone
from whyrank.learning.models.lru_cache import LRUCache
from whyrank.learning.models.network import Ingredients
from whyrank.rankers.ranker import Pair
from whyrank.text.tokens import Span

#: Stands after the last unit of a text.
PADDING = -1
#: Units, four bytes each, that are kept in case their texts are read again, as candidates are every epoch; what a
#: text takes besides its units counts as so many more.
KEPT_UNITS, BESIDE_UNITS = 10_000_000, 100


@dataclass(frozen=True)
class Reading:
    """B examples as the numbers of their units: queries [B, m] and documents [B, n], padded on the right.

    Numbers from the lexicon's size on are units that it does not know, whose vectors are `unknown` [k, d].
    `cut` counts the examples of which not all was read.
    """

    query: Tensor
    document: Tensor
    unknown: Tensor
    cut: int = 0

    @property
    def examples(self) -> int:
        return len(self.query)


class Units(NamedTuple):
    """A text as the numbers of its first units, and the (place, spelling) of those that are not known."""

    numbers: array[int]
    unknown: tuple[tuple[int, str], ...] = ()
    cut: bool = False

    @classmethod
    def of(cls, units: Sequence[int | str], most: int) -> Units:
        """The first so many units, each a number or the spelling of what has none."""
        first = units[:most]
        numbers = array("i", [PADDING if isinstance(unit, str) else unit for unit in first])
        unknown = tuple((place, unit) for place, unit in enumerate(first) if isinstance(unit, str))
        return cls(numbers, unknown, len(units) > most)


class Lexicon(nn.Module, ABC):
    """Units with their vectors [V, d], which are learned on or stay as they are."""

    vectors: Tensor

    def __init__(self, vectors: Tensor, learned: bool) -> None:
        super().__init__()
        self._read: LRUCache[tuple[str, int], Units] = LRUCache(KEPT_UNITS, _count)
        if learned:
            self.vectors = nn.Parameter(vectors)
        else:
            self.register_buffer("vectors", vectors)

    @abstractmethod
    def units(self, text: str) -> Sequence[int | str]:
        """A text's units: the number of each, or how it is spelled where it has none."""

    @abstractmethod
    def spans(self, text: str) -> Sequence[Span]:
        """The characters of each unit of a text."""

    @abstractmethod
    def frequencies(self, collection: Collection) -> tuple[Tensor, int]:
        """In how many documents each unit is [V], and how many documents there are."""

    def unknown_vectors(self, new: dict[str, int]) -> Tensor:
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
        texts = [(self._units(query, most), self._units(text, most)) for query, text in pairs]
        queries, documents = ([self._numbers(one, new) for one in some] for some in zip(*texts, strict=True))
        cut = sum(query.cut or document.cut for query, document in texts)
        return Reading(self._padded(queries), self._padded(documents), self.unknown_vectors(new), cut)

    def _units(self, text: str, most: int) -> Units:
        return self._read.get((text, most), lambda: Units.of(self.units(text), most))

    def _numbers(self, units: Units, new: dict[str, int]) -> list[int]:
        """A new unit gets the next number, the same in all texts of a batch, so that it matches itself."""
        numbers = units.numbers.tolist()
        for place, unit in units.unknown:
            numbers[place] = new.setdefault(unit, len(self) + len(new))
        return numbers

    def _padded(self, texts: Sequence[list[int]]) -> Tensor:
        longest = max(1, *map(len, texts))
        rows = [text + [PADDING] * (longest - len(text)) for text in texts]
        return torch.tensor(rows, device=self.vectors.device)

    def embed(self, numbers: Tensor, unknown: Tensor) -> Tensor:
        """The vectors [B, n, d] of some numbers [B, n], zero where they are padding."""
        found = functional.embedding(numbers.clamp(0, len(self) - 1), self.vectors)
        if len(unknown):
            unknown = unknown[(numbers - len(self)).clamp_min(0)]
            found = torch.where((numbers >= len(self))[..., None], unknown, found)
        return found * (numbers != PADDING)[..., None]


def document_texts(collection: Collection) -> Iterator[str]:
    return (text for _, text in collection.documents())


def _count(units: Units) -> int:
    return len(units.numbers) + BESIDE_UNITS


#: Tokens of a text, where there is no limit: nothing is cut here.
LONGEST = 2**31


class PieceLexicon(Lexicon):
    """The vocabulary of a checkpoint; what its tokenizer does not know is one unit of it, the unknown token."""

    def __init__(self, tokenizer: Tokenizer, vectors: Tensor, learned: bool) -> None:
        super().__init__(vectors, learned)
        self.tokenizer = tokenizer

    @classmethod
    def of(cls, ingredients: Ingredients, learned: bool) -> PieceLexicon:
        if ingredients.untrained:
            return cls(ingredients.checkpoint.pieces(LONGEST).tokenizer, torch.zeros(1, 1), learned)
        tokenizer, vectors = ingredients.once("pieces", lambda: _embeddings(ingredients.backbone()))
        return cls(tokenizer, vectors.clone(), learned)

    def units(self, text: str) -> Sequence[int | str]:
        return self._encoded(text).ids

    def spans(self, text: str) -> Sequence[Span]:
        return self._encoded(text).offsets

    def _encoded(self, text: str) -> Encoding:
        self.tokenizer.no_truncation()
        return self.tokenizer.encode(text, add_special_tokens=False)

    def frequencies(self, collection: Collection) -> tuple[Tensor, int]:
        """A piece counts where it would match, also within a longer word. An embedding matrix may have more rows
        than its tokenizer has tokens, or fewer."""
        counted, documents = document_frequencies(self.tokenizer, document_texts(collection), as_words=False)
        found = torch.zeros(len(self), dtype=torch.float64)
        known = torch.from_numpy(counted)[: len(found)]
        found[: len(known)] = known.double()
        return found, documents


def _embeddings(backbone: Backbone) -> tuple[Tokenizer, Tensor]:
    return backbone.pieces.tokenizer, backbone.encoder.word_embeddings.detach().clone()
