"""Words as units, with the vectors of a file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from whyrank.collections.collection import Collection
from whyrank.learning.models.lexicon import Lexicon, document_texts
from whyrank.learning.models.network import Ingredients
from whyrank.learning.models.word_vectors import read_vectors, stranger
from whyrank.text.tokens import Span
from whyrank.text.words import word_spans, words


class KnownWords(NamedTuple):
    """Words with their vectors [V, d], and the mean length of those of the file."""

    spelled: list[str]
    vectors: Tensor
    length: Tensor


class WordLexicon(Lexicon):
    """The words of a collection that a file has, and all words of the collection's queries.

    A word that the file lacks has the vector of a stranger (see `word_vectors`), as long as the file's vectors are
    in the mean. The spelling of the words is part of the saved state.
    """

    mean_length: Tensor

    def __init__(self, spelled: Sequence[str], vectors: Tensor, mean_length: Tensor, learned: bool) -> None:
        super().__init__(vectors, learned)
        self.register_buffer("mean_length", mean_length)
        self.rows = {word: row for row, word in enumerate(spelled)}

    @classmethod
    def of(cls, path: str, ingredients: Ingredients, learned: bool) -> WordLexicon:
        """Without a collection, the whole file."""
        if ingredients.untrained:
            return cls([], torch.zeros(1, 1), torch.ones(()), learned)
        known = ingredients.once(f"words {path}", lambda: _known_words(path, ingredients.collection))
        return cls(known.spelled, known.vectors.clone(), known.length.clone(), learned)

    def units(self, text: str) -> Sequence[int | str]:
        return [self.rows.get(word, word) for word in words(text)]

    def spans(self, text: str) -> Sequence[Span]:
        return [(word.start, word.end) for word in word_spans(text)]

    def frequencies(self, collection: Collection) -> tuple[Tensor, int]:
        counts: Counter[int] = Counter()
        documents = 0
        for text in document_texts(collection):
            counts.update({self.rows[word] for word in words(text) if word in self.rows})
            documents += 1
        return torch.tensor([counts[row] for row in range(len(self))], dtype=torch.float64), documents

    def strangers(self, new: dict[str, int]) -> Tensor:
        if not new:
            return super().strangers(new)
        unit = torch.stack([stranger(word, self.width) for word in new])
        return unit.to(self.vectors.device) * self.mean_length

    def get_extra_state(self) -> Tensor:
        """The words, one a line, in UTF-8: a tensor, as safetensors takes nothing else."""
        return torch.from_numpy(np.array(bytearray("\n".join(self.rows).encode()), dtype=np.uint8))

    def set_extra_state(self, state: Tensor) -> None:
        spelled = state.cpu().numpy().tobytes().decode().split("\n")
        self.rows = {word: row for row, word in enumerate(spelled)}
        self._read.forget()


def _known_words(path: str, collection: Collection | None) -> KnownWords:
    """The file's words that the collection has, and after them its queries' other words."""
    found = read_vectors(path, None if collection is None else _vocabulary(collection))
    vectors = torch.stack(list(found.values()))
    length = vectors.norm(dim=1).mean()
    asked = [] if collection is None else chain.from_iterable(map(words, collection.queries.values()))
    more = [word for word in dict.fromkeys(asked) if word not in found]
    unknown = [stranger(word, vectors.shape[1])[None] * length for word in more]
    return KnownWords([*found, *more], torch.cat([vectors, *unknown]), length)


def _vocabulary(collection: Collection) -> set[str]:
    """All words of its documents and queries."""
    texts = chain(document_texts(collection), collection.queries.values())
    return {word for text in texts for word in words(text)}
