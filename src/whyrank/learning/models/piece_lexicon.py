"""Word pieces as units, with a backbone's input embeddings as their vectors."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from tokenizers import Encoding, Tokenizer
from torch import Tensor

from whyrank.collections.collection import Collection
from whyrank.collections.idf import document_frequencies
from whyrank.learning.models.backbone import Backbone
from whyrank.learning.models.lexicon import Lexicon, document_texts
from whyrank.learning.models.network import Ingredients
from whyrank.text.tokens import Span

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
