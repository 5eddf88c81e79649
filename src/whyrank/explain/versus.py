"""Why A stands above B: the difference word by word on both sides, and the smallest change that swaps them.

    score(A) - score(B)      and for each word w      effect_A(w) - effect_B(w)

The effects do not sum to the difference: words stand in for each other. The swap is scored, not estimated: words
of A that raise its score are taken out, or words of B that lower its score, the strongest first, until B is above
A; then each is put back if B stays above without it. Or one dial of the embedding matrix is turned
(`dial_swap.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations

from whyrank.explain.dial_swap import smallest_turn
from whyrank.explain.explanation import Swap, TermEffect, Versus, WordContrast, Words
from whyrank.explain.material import Candidate
from whyrank.explain.scored import ScoredTexts
from whyrank.rankers.ranker import Pair

#: Words of one side that a swap may take out, at most.
MOST_WORDS = 20
#: Of the strongest words, all sets of two are tried before larger sets.
STRONGEST = 6
#: Texts that a search may score.
MOST_SCORED = 80

Without = Callable[[Sequence[str]], Pair]


def versus_of(
    texts: ScoredTexts, other: Candidate, above: Words, below: Words, without: tuple[Without, Without]
) -> Versus:
    """The document explained, which is above, against another; `without` takes words out of each text."""
    asked = [one.word for one in above.query_terms if one.effect > 0]
    return Versus(
        docid=other.docid, document=other.text, score=below.score, rank=other.rank,
        words=contrasts(above.terms, below.terms),
        swap=_smallest_swap(texts, above, below, without),
        turn=smallest_turn(texts.ranker, asked, without[0](()), without[1](())),
    )  # fmt: skip


def contrasts(above: Sequence[TermEffect], below: Sequence[TermEffect]) -> tuple[WordContrast, ...]:
    """The words of both texts, the largest difference first."""
    first, second = ({one.word: one for one in side} for side in (above, below))
    found = [
        WordContrast(
            word,
            first[word].effect if word in first else None,
            second[word].effect if word in second else None,
        )
        for word in dict.fromkeys([*first, *second])
    ]
    return tuple(sorted(found, key=lambda one: -abs(one.difference)))


def _smallest_swap(
    texts: ScoredTexts, above: Words, below: Words, without: tuple[Without, Without]
) -> Swap | None:
    """The side whose change needs fewer words; None where none was found within the budget."""
    raising = [one.word for one in above.terms if one.effect > 0][:MOST_WORDS]
    lowering = [one.word for one in reversed(below.terms) if one.effect < 0][:MOST_WORDS]
    found = []
    for side, words, take, goal in (
        ("above", raising, without[0], lambda score: score < below.score),
        ("below", lowering, without[1], lambda score: score > above.score),
    ):
        chosen = fewest_words(texts, words, take, goal)
        if chosen is not None:
            score = texts[take(chosen)]
            found.append(Swap(side, chosen, score if side == "above" else above.score,
                              score if side == "below" else below.score))  # fmt: skip
    return min(found, key=lambda one: len(one.words), default=None)


def fewest_words(
    texts: ScoredTexts, words: Sequence[str], without: Without, reached: Callable[[float], bool]
) -> tuple[str, ...] | None:
    """A small set of words without which the goal is reached, verified by its score: one word, two of the
    strongest, or as many of the strongest as it takes, less those that are not needed. None where no set that the
    budget let be scored reaches it."""
    with texts.search("smallest change", MOST_SCORED):
        return _Search(texts, words, without, reached).fewest()


class _Search:
    def __init__(
        self, texts: ScoredTexts, words: Sequence[str], without: Without, reached: Callable[[float], bool]
    ) -> None:
        self.texts, self.words, self.without, self.reached = texts, tuple(words), without, reached

    def fewest(self) -> tuple[str, ...] | None:
        for size, among in ((1, self.words), (2, self.words[:STRONGEST])):
            if found := self._good(list(combinations(among, size))):
                return found[0]
        if len(self.words) < 2 or not self._good([self.words]):
            return None
        return self._needed(self._shortest(2, len(self.words)))

    def _shortest(self, fails: int, holds: int) -> tuple[str, ...]:
        """The strongest words, as many as it takes, between a number that fails and one that holds."""
        while holds - fails > 1:
            middle = (fails + holds) // 2
            fails, holds = (fails, middle) if self._good([self.words[:middle]]) else (middle, holds)
        return self.words[:holds]

    def _needed(self, words: tuple[str, ...]) -> tuple[str, ...]:
        """Those of the words that cannot be put back one by one."""
        for word in words[::-1]:
            rest = tuple(one for one in words if one != word)
            if len(rest) > 1 and self._good([rest]):
                words = rest
        return words

    def _good(self, sets: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
        """Those sets without which the goal is reached, of those that the budget lets be scored."""
        pairs = [self.without(one) for one in sets]
        self.texts.score_some("smallest change", pairs)
        return [
            one
            for one, pair in zip(sets, pairs, strict=True)
            if pair in self.texts and self.reached(self.texts[pair])
        ]
