"""What stands where the other side has the term."""

from __future__ import annotations

import random

from whyrank.core.errors import UserError
from whyrank.text.words import Analyzer, words

#: The word `a`; the tokenizer's mask; any word of the collection; one as frequent in it as the term.
FILLERS = ("a", "mask", "random", "frequency")
#: `a` is the papers' filler; where it is a query word itself, the next one is taken.
PLAIN = ("a", "an", "the", "of", "or")
#: Stands for a ranker's own mask token, whatever it is written like.
MASK = "[MASK]"
#: Out of so many words of the nearest frequency one is drawn.
NEAREST = 50

_stem = Analyzer()


def plain_filler(query: str) -> str:
    """The first plain filler that is not a query word."""
    taken = set(_stem(query))
    return next((word for word in PLAIN if not taken.intersection(_stem(word))), PLAIN[0])


class Fillers:
    """Chooses fillers by a policy; words of the collection come with their document frequency."""

    def __init__(self, policy: str, frequencies: dict[str, int], has_mask: bool, stem: Analyzer = _stem) -> None:
        if policy not in FILLERS:
            raise UserError(f"unknown filler '{policy}'", todo=f"choose one of {', '.join(FILLERS)}")
        if policy == "mask" and not has_mask:
            raise UserError("the mask filler needs a ranker with a mask token", todo="choose another filler")
        self.policy, self._frequencies, self._stem = policy, frequencies, stem
        self._usable = sorted(word for word in frequencies if word.isalpha() and 2 < len(word) < 9)

    def choose(self, query: str, term: str, text: str, generator: random.Random) -> str:
        """The filler for one pair: never a query word or a form of one, and no word of the text."""
        if self.policy == "a":
            return plain_filler(query)
        if self.policy == "mask":
            return MASK
        stems, here = set(self._stem(query)), set(words(text))
        target = self._frequencies.get(term, 0) if self.policy == "frequency" else None
        drawn = generator.sample(self._usable, len(self._usable))
        if target is not None:
            drawn.sort(key=lambda word: abs(self._frequencies[word] - target))
            drawn = generator.sample(drawn[:NEAREST], len(drawn[:NEAREST]))
        return next(
            (word for word in drawn if word not in here and not stems.intersection(self._stem(word))), PLAIN[0]
        )
