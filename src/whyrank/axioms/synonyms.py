"""Synonyms by a ranker's own lights: neighbours in its input embeddings, and cosines between words."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import torch
from torch import Tensor
from torch.nn.functional import normalize

from whyrank.rankers.neural import NeuralRanker
from whyrank.text.synonyms import CANDIDATES, choose_synonym
from whyrank.text.vocabulary import whole_words


class InputEmbeddings:
    """Words in a ranker's input embedding matrix; a word of several pieces is their mean."""

    def __init__(self, ranker: NeuralRanker) -> None:
        self.ranker = ranker
        self.tokenizer = ranker.pieces.tokenizer

    def cosine(self, first: str, second: str) -> float | None:
        """Of two words; None where one has no piece."""
        vectors = [self._vector(word) for word in (first, second)]
        if vectors[0] is None or vectors[1] is None:
            return None
        return float(normalize(vectors[0], dim=0) @ normalize(vectors[1], dim=0))

    def neighbours(self, word: str, most: int = CANDIDATES) -> list[str]:
        """The whole words of the vocabulary nearest to a word; none for a word of several pieces, whose mean is
        nearest to fragments."""
        vector = self._vector(word)
        if vector is None or len(self.tokenizer.encode(f" {word}", add_special_tokens=False).ids) > 1:
            return []
        names, matrix = self._vocabulary
        order = torch.topk(matrix @ normalize(vector, dim=0), min(most + 1, len(names))).indices
        return [names[i] for i in order.tolist() if names[i] != word][:most]

    def _vector(self, word: str) -> Tensor | None:
        pieces = self.tokenizer.encode(f" {word}", add_special_tokens=False).ids
        with torch.no_grad():
            return self.ranker.encoder.word_embeddings[pieces].mean(dim=0) if pieces else None

    @cached_property
    def _vocabulary(self) -> tuple[list[str], Tensor]:
        """Pieces that are words by themselves, with their normalised rows."""
        words = whole_words(self.tokenizer)
        kept = [number for number, word in words.items() if len(word) > 2 and word.isascii()]
        with torch.no_grad():
            rows = normalize(self.ranker.encoder.word_embeddings[kept], dim=-1)
        return [words[number] for number in kept], rows


def synonym_chooser(
    query: str,
    embeddings: InputEmbeddings | None,
    wordnet: Callable[[str], list[str]] | None,
    own: dict[str, list[str]] | None,
) -> Callable[[str], str | None]:
    """For one query: term -> its synonym, out of WordNet's and the embeddings' candidates, or the user's."""

    def choose(term: str) -> str | None:
        candidates = (wordnet(term) if wordnet else []) + (embeddings.neighbours(term) if embeddings else [])
        return choose_synonym(term, query, candidates, embeddings.cosine if embeddings else None, own)

    return choose
