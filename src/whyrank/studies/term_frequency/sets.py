"""The sets of pairs that the study is made of, all from the ranker's own top documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from whyrank.axioms.api import strongest_term
from whyrank.axioms.axiom import Axiom, parse_axioms
from whyrank.axioms.make import Choices, PairMaker
from whyrank.axioms.pair import MinimalPair
from whyrank.axioms.pool import Pool
from whyrank.axioms.tfc2 import TFC2
from whyrank.collections.collection import Collection
from whyrank.collections.records import Run
from whyrank.rankers.neural import NeuralRanker
from whyrank.studies.term_frequency.documents import TOP
from whyrank.studies.term_frequency.pairs import minimal_context, null_pairs
from whyrank.studies.term_frequency.sizes import Sizes

#: The papers' 'top 10%' and 'bottom 10%'.
BANDS = ((1, 10), (91, 100))
INJECTED = ("append", "prepend", "middle")
#: Occurrences that a replacement must take away to count as many.
MANY = 5


@dataclass(frozen=True)
class PairSets:
    """Makes each set when it is asked for; the same seed gives the same pairs."""

    ranker: NeuralRanker
    collection: Collection
    run: Run
    sizes: Sizes
    term: str = "effect"
    seed: int = 0
    _strongest: dict[str, str] = field(default_factory=dict)

    @cached_property
    def pool(self) -> Pool:
        return Pool(self.collection, self.run, TOP)

    def injected(self, where: str, *, term: str | None = None, filler: str = "a") -> list[MinimalPair]:
        """TFC1 append, prepend or middle: as many of either band of ranks."""
        half = -(-self.sizes.pairs // len(BANDS))
        found: list[MinimalPair] = []
        for band in BANDS:
            found += self.made(f"TFC1:{where}", half, ranks=(band,), term=term or self.term, filler=filler)
        return found

    def replaced(self) -> list[MinimalPair]:
        """TFC1 replace, on documents that hold the term: only these really differ."""
        return self.made("TFC1:replace", self.sizes.pairs, having="term", term=self.term)

    def null(self) -> list[MinimalPair]:
        return null_pairs(self.injected("append"), self.seed)

    def minimal(self) -> list[MinimalPair]:
        return minimal_context(self.injected("append"))

    def counted(self, variant: str, slots: int | None = None) -> list[MinimalPair]:
        """TFC2, every k, with as many fillers as the largest k needs, or so many `slots` (50 in the papers)."""
        axiom = TFC2(variant, most=self.sizes.most_k, slots=slots)
        return self.made([axiom], self.sizes.counting, term=self.term)

    def restored(self) -> list[MinimalPair]:
        """Sentences whose subject goes from pronoun to term."""
        return self.made([TFC2("restore")], self.sizes.pairs, term=self.term)

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
        query_term = self.strongest if term == "effect" else None
        return PairMaker(self.pool, [self.ranker], choices, query_term=query_term).make(chosen).pairs

    def strongest(self, qid: str) -> str:
        """The query's term whose appending moves the scores of its documents in both bands most; asked once."""
        if qid not in self._strongest:
            choices = Choices(seed=self.seed, top=TOP, ranks=BANDS)
            self._strongest[qid] = strongest_term(self.pool, self.ranker, choices, qid)
        return self._strongest[qid]


def many_replacements(pairs: Sequence[MinimalPair], least: int = MANY) -> list[MinimalPair]:
    """Those that take the term away at so many places or more."""
    return [pair for pair in pairs if len(pair.slotted.baseline) >= least]
