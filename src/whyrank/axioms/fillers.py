"""What stands where the other side has the term."""

from __future__ import annotations

import random
from bisect import bisect_left
from collections.abc import Sequence

from whyrank.errors import UserError
from whyrank.text.words import words

#: The word `a`; the tokenizer's mask; any word of the collection; one as frequent in it as the term.
FILLERS = ("a", "mask", "random", "frequency")
#: `a` is the papers' filler; where it is a query word itself, the next one is taken.
PLAIN = ("a", "an", "the", "of", "or")


class Fillers:
    """Chooses fillers by a policy; words of the collection come with their document frequency."""

    def __init__(self, policy: str, frequencies: dict[str, int], mask_token: str | None) -> None:
        if policy not in FILLERS:
            raise UserError(f"unknown filler '{policy}'", todo=f"choose one of {', '.join(FILLERS)}")
        if policy == "mask" and mask_token is None:
            raise UserError("the mask filler needs a ranker with a mask token", todo="choose another --filler")
        self.policy, self.mask_token = policy, mask_token
        usable = {word: count for word, count in frequencies.items() if word.isalpha() and 2 < len(word) < 9}
        self._by_frequency: list[tuple[int, str]] = sorted((count, word) for word, count in usable.items())
        self._frequencies = frequencies

    def choose(self, query: str, term: str, text: str, generator: random.Random) -> str:
        """The filler for one pair: never a query word, and a word of the collection only if not in the text."""
        taken = set(words(query))
        if self.policy == "a":
            return next((word for word in PLAIN if word not in taken), PLAIN[0])
        if self.policy == "mask":
            return str(self.mask_token)
        taken |= set(words(text))
        around = self._nearest(term) if self.policy == "frequency" else self._by_frequency
        free = [word for _, word in around if word not in taken]
        return generator.choice(free) if free else PLAIN[0]

    def _nearest(self, term: str, most: int = 50) -> Sequence[tuple[int, str]]:
        place = bisect_left(self._by_frequency, (self._frequencies.get(term, 0), ""))
        return self._by_frequency[max(0, place - most // 2) : place + most // 2]
