"""What the models on word vectors share: where these come from, how texts are read, how a state is loaded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from torch import Tensor, nn

from whyrank.learning.models.lexicon import Lexicon, PieceLexicon, Reading
from whyrank.learning.models.network import Ingredients, Network, NetworkSettings
from whyrank.learning.models.word_lexicon import WordLexicon
from whyrank.rankers.ranker import Pair


@dataclass(frozen=True)
class WordSettings(NetworkSettings):
    """`vectors` is a file of word vectors; without one, units are word pieces with the backbone's input
    embeddings. At most `max_length` units of a text are read."""

    max_length: int = 2048
    vectors: str | None = None

    def lexicon(self, ingredients: Ingredients, learned: bool) -> Lexicon:
        """The units and their vectors; without either, where a state that has them is to be loaded."""
        if self.vectors:
            return WordLexicon.of(self.vectors, ingredients, learned)
        return PieceLexicon.of(ingredients, learned)


class WordNetwork(Network):
    """A model that compares words, whatever stands around them."""

    def __init__(self, settings: Any, lexicon: Lexicon, untrained: bool) -> None:
        super().__init__()
        self.settings, self.lexicon = settings, lexicon
        if untrained:
            self.register_load_state_dict_pre_hook(_take_sizes)

    def read(self, pairs: Sequence[Pair]) -> Reading:
        return self.lexicon.read(pairs, self.settings.max_length)


def _take_sizes(module: nn.Module, state: dict[str, Tensor], prefix: str, *_: Any) -> None:
    """Makes each tensor as large as in the state to be loaded, which alone knows how many units there are and how
    wide their vectors."""
    for name, own in chain(module.named_parameters(), module.named_buffers()):
        saved = state.get(prefix + name)
        if saved is not None and saved.shape != own.shape:
            own.data = own.new_empty(saved.shape)
