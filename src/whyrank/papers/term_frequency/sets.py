"""The sets of pairs that the study is made of, all from the ranker's own top documents; and its controls: a random
word in the term's place (null), and the change without its context (minimal context)."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import zip_longest

from whyrank.axioms.api import strongest_term
from whyrank.axioms.axiom import Axiom, Skip
from whyrank.axioms.make import Choices, PairMaker
from whyrank.axioms.pair import MinimalPair
from whyrank.axioms.pool import Pool
from whyrank.axioms.registry import parse_axioms
from whyrank.axioms.tfc2 import TFC2
from whyrank.collections.collection import Collection
from whyrank.collections.records import Run
from whyrank.core.progress import Progress
from whyrank.papers.term_frequency.documents import TOP
from whyrank.papers.term_frequency.sizes import Sizes
from whyrank.rankers.neural import NeuralRanker
from whyrank.text.alignment import Slotted
from whyrank.text.words import word_spans, words

#: The papers' 'top 10%' and 'bottom 10%'.
BANDS = ((1, 10), (91, 100))
#: Occurrences that a replacement must take away to count as many, and how many documents are searched for them.
MANY, SEARCHED = 5, 20
#: Words kept on either side of the change.
WINDOW = 5
NULL, MINIMAL = "null", "minimal"
#: Controls, and the sets on whose documents they are.
CONTROLS = {
    "null": "append", "minimal context": "append", "null, prepend": "prepend",
    "minimal context, prepend": "prepend",
}  # fmt: skip


@dataclass(frozen=True)
class PairSets:
    """Makes each set when it is asked for; the same seed makes the same pairs."""

    ranker: NeuralRanker
    collection: Collection
    run: Run
    sizes: Sizes
    term: str = "effect"
    seed: int = 0
    #: The strongest term of each query, for the policy `effect`.
    strongest: Mapping[str, str] | None = None

    @cached_property
    def pool(self) -> Pool:
        return Pool(self.collection, self.run, TOP)

    def injected(
        self, where: str, count: int | None = None, *, term: str | None = None, filler: str = "a"
    ) -> list[MinimalPair]:
        """TFC1 append, prepend or middle: as many of either band of ranks, by turns, so that the first of them are
        of both, too."""
        half = -(-(count or self.sizes.others) // len(BANDS))
        bands = [
            self.made(f"TFC1:{where}", half, ranks=(band,), term=term or self.term, filler=filler)
            for band in BANDS
        ]
        return [pair for turn in zip_longest(*bands) for pair in turn if pair is not None]

    def replaced(self) -> tuple[list[MinimalPair], list[MinimalPair]]:
        """TFC1 replace, on documents that hold the term (only these really differ); and those where it stands
        five times or more."""
        found = self.made("TFC1:replace", SEARCHED * self.sizes.others, having="term", term=self.term)
        many = [pair for pair in found if len(pair.slotted.baseline) >= MANY]
        return found[: self.sizes.others], many[: self.sizes.others]

    def null(self, pairs: Sequence[MinimalPair]) -> list[MinimalPair]:
        """These pairs with a word of another query, as many as the other variants have."""
        return null_pairs(pairs[: self.sizes.others], self.seed, words_of=pairs)

    def minimal(self, pairs: Sequence[MinimalPair]) -> list[MinimalPair]:
        """These pairs without their context, as many as the other variants have."""
        tokenizer = self.ranker.pieces.tokenizer

        def pieces(word: str) -> int:
            tokenizer.no_truncation()
            return max(1, len(tokenizer.encode(word, add_special_tokens=False).ids))

        return minimal_context(pairs[: self.sizes.others], pieces)

    def counted(self, variant: str, slots: int | None = None) -> list[MinimalPair]:
        """TFC2, every k, with as many fillers as the largest k needs, or so many `slots` (50 in the papers)."""
        axiom = TFC2(variant, most=self.sizes.most_k, slots=slots)
        return self.made([axiom], self.sizes.counting, term=self.term)

    def restored(self) -> list[MinimalPair]:
        """Sentences whose subject goes from pronoun to term."""
        return self.made([TFC2("restore")], self.sizes.others, term=self.term)

    def made(
        self,
        axioms: str | Sequence[Axiom],
        n: int,
        *,
        term: str,
        ranks: tuple[tuple[int, int], ...] = (),
        having: str | None = None,
        filler: str = "a",
    ) -> list[MinimalPair]:
        """Pairs of so many documents; none where the collection has no documents for it."""
        choices = Choices(n, self.seed, term, filler, TOP, ranks, having)
        chosen = parse_axioms(axioms) if isinstance(axioms, str) else list(axioms)
        query_term = self._strongest if term == "effect" else None
        return list(PairMaker(self.pool, [self.ranker], choices, query_term=query_term).make(chosen).pairs)

    def _strongest(self, qid: str) -> str:
        if not self.strongest or qid not in self.strongest:
            raise Skip("the query has no term")
        return self.strongest[qid]


def strongest_terms(
    ranker: NeuralRanker, pool: Pool, documents: int, seed: int, progress: Progress
) -> dict[str, str]:
    """For each query the term whose appending raises the scores of the first so many documents of either band
    most."""
    ranks = tuple((first, first + documents - 1) for first, _ in BANDS)
    choices, found = Choices(seed=seed, depth=TOP, ranks=ranks), {}
    for qid in pool.run:
        if pool.terms(qid):
            found[qid] = strongest_term(pool, ranker, choices, qid)
        progress(1)
    return found


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
