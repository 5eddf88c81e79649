"""The parts of a text that are taken away: sentences, and where each word stands."""

from __future__ import annotations

from collections.abc import Sequence

from whyrank.text.sentences import sentence_spans
from whyrank.text.tokens import Span
from whyrank.text.words import WordSpan

#: Words of a sentence at most: texts without full stops have parts, too.
LONGEST = 40


def sentences_of(text: str, words: Sequence[WordSpan], most: int) -> list[Span]:
    """The sentences that hold these words, in order, `most` at most: long ones are cut after `LONGEST` words, and
    neighbours are joined where there are too many."""
    found: list[Span] = []
    number = 0
    for _, end in sentence_spans(text):
        inside = []
        while number < len(words) and words[number].start < end:
            inside.append(words[number])
            number += 1
        runs = (inside[i : i + LONGEST] for i in range(0, len(inside), LONGEST))
        found += [(run[0].start, run[-1].end) for run in runs]
    size = -(-len(found) // max(1, most))
    groups = (found[i : i + size] for i in range(0, len(found), max(1, size)))
    return [(group[0][0], group[-1][1]) for group in groups]


def places_of(words: Sequence[WordSpan]) -> dict[str, list[Span]]:
    """Where each distinct word stands."""
    found: dict[str, list[Span]] = {}
    for word, start, end in words:
        found.setdefault(word, []).append((start, end))
    return found
