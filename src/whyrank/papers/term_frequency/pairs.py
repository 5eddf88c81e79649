"""Pairs that the study makes of other pairs: a random word in the term's place, and the change without its
context."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace

from whyrank.axioms.pair import MinimalPair
from whyrank.text.alignment import Slotted
from whyrank.text.words import word_spans, words

#: Words kept on either side of the change.
WINDOW = 5
NULL, MINIMAL = "null", "minimal"


def null_pairs(
    pairs: Sequence[MinimalPair], seed: int = 0, words_of: Sequence[MinimalPair] | None = None
) -> list[MinimalPair]:
    """The same documents and places with another query's term (of `words_of`, or of these pairs) injected: a word
    that this query does not ask for. What remains of an effect is not term frequency."""
    terms = sorted({pair.term for pair in words_of or pairs if pair.term})
    found = []
    for pair in pairs:
        mine, text = set(words(pair.query)), set(words(pair.baseline))
        others = [term for term in terms if term not in mine and term not in text]
        if others and pair.term:
            word = random.Random(f"{seed} null {pair.id}").choice(others)
            slotted = pair.slotted
            contents = tuple(word if one == pair.term else one for one in slotted.perturbed)
            found.append(_again(pair, replace(slotted, perturbed=contents), NULL))
    return found


def minimal_context(
    pairs: Sequence[MinimalPair], pieces: Callable[[str], int], window: int = WINDOW
) -> list[MinimalPair]:
    """Only the change and so many words around it are kept; every other word of the document becomes fillers, as
    many as it has `pieces`, so that nothing moves. What an effect loses is content; what it keeps has to do with
    the place."""
    return [
        _again(pair, _bare(pair.slotted, pair.filler, pieces, window), MINIMAL) for pair in pairs if pair.aligned
    ]


def _bare(slotted: Slotted, filler: str, pieces: Callable[[str], int], window: int) -> Slotted:
    last = len(slotted.segments) - 1
    kept = [
        _filled(segment, filler, pieces, before=window if i else 0, after=window if i < last else 0)
        for i, segment in enumerate(slotted.segments)
    ]
    return replace(slotted, segments=tuple(kept))


def _filled(text: str, filler: str, pieces: Callable[[str], int], *, before: int, after: int) -> str:
    """All but the first `before` and the last `after` words of a segment as fillers; what is between words
    stays."""
    spans = word_spans(text)
    middle = spans[before : len(spans) - after]
    made, end = "", 0
    for _, start, stop in middle:
        made += text[end:start] + " ".join([filler] * pieces(text[start:stop]))
        end = stop
    return made + text[end:]


def _again(pair: MinimalPair, slotted: Slotted, variant: str) -> MinimalPair:
    """The pair with other texts; its id says what was done to it."""
    return replace(pair.with_texts(slotted, slotted), id=f"{variant}:{pair.id}", variant=variant)
