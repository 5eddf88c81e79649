"""Pairs beside the texts that a ranker really scores for them: as they were given, padded with fillers, or cut.

A pair with `contents` (made by `whyrank pairs`) has its fillers counted anew for each tokenizer. Into a user's own
pair fillers are put only where that is asked for (`pad`). Both are cut to the length that the ranker reads, before
the change. Whatever differs from the texts as given is counted and reported.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from whyrank.axioms.pair import MinimalPair
from whyrank.axioms.realise import realise_for_patching, slotted_for
from whyrank.axioms.slots import SIDES
from whyrank.rankers.neural import NeuralRanker
from whyrank.rankers.ranker import Pair, Ranker
from whyrank.text.alignment import CannotAlign, Misaligned, Slotted


@dataclass(frozen=True)
class ScoredPair:
    """A pair as it was `given`, and with the texts that one ranker scores; whether fillers were put in (or others
    than in the text as given), and whether text was cut."""

    given: MinimalPair
    scored: MinimalPair
    padded: bool = False
    cut: bool = False

    @property
    def changed(self) -> bool:
        return self.padded or self.cut

    @property
    def own(self) -> bool:
        """Whether it is a user's own pair, into which fillers are put only when asked for."""
        return self.given.contents is None


def for_scoring(pair: MinimalPair, ranker: Ranker) -> ScoredPair:
    """The pair with the texts that this ranker scores in an audit; CannotAlign when it does not fit."""
    return _scored(pair, pair, slotted_for(pair, ranker))


def for_patching(
    pair: MinimalPair, ranker: NeuralRanker, side: str = "document", *, pad: bool = False
) -> ScoredPair:
    """The pair with the texts whose passes are patched: as given if they align; with `pad`, fillers are put into a
    user's own pair that does not. CannotAlign otherwise."""
    try:
        found = _scored(pair, pair, realise_for_patching(pair, ranker, side).slotted)
    except Misaligned:
        if not pad or pair.fillable() is pair:
            raise
        filled = pair.fillable()
        found = _scored(pair, filled, realise_for_patching(filled, ranker, side).slotted)
    read = [ranker.opened_tokens(pair.query, getattr(found.scored, one), side=side).ids for one in SIDES]
    if read[0] == read[1]:
        raise CannotAlign("it reads the same tokens on both sides")
    return found


def _scored(given: MinimalPair, used: MinimalPair, shown: Slotted) -> ScoredPair:
    """`used` is the pair given, or with slots for fillers; `shown` what became of it."""
    if all(shown.text(side) == getattr(given, side) for side in SIDES):
        return ScoredPair(given, given)
    plain, count = used.slotted, len(shown.baseline)
    if used.contents is None:
        return ScoredPair(given, used.with_texts(shown, None), cut=True)
    kept = Slotted(shown.segments, plain.baseline[:count], plain.perturbed[:count])
    return ScoredPair(
        given,
        used.with_texts(shown, kept),
        padded=given.slot is None or _slots(shown, count) != _slots(_as_written(given), count),
        cut=shown.segments != plain.segments,
    )


def _as_written(pair: MinimalPair) -> Slotted:
    assert pair.slot is not None
    return Slotted.of_spans(pair.baseline, pair.perturbed, (pair.slot["baseline"], pair.slot["perturbed"]))


def _slots(slotted: Slotted, count: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return slotted.baseline[:count], slotted.perturbed[:count]


def inputs_of(pair: MinimalPair, side: str = "document") -> tuple[Pair, Pair]:
    """The (query, document) inputs of both texts; on the `query` side, the texts that differ are the queries."""
    texts = pair.baseline, pair.perturbed
    baseline, perturbed = ((text, pair.query) if side == "query" else (pair.query, text) for text in texts)
    return baseline, perturbed


@dataclass(frozen=True)
class TextCounts:
    """Of so many pairs, how many are scored with the texts as given; how many with fillers put into a user's own
    text, or with other fillers than in the text of a pair of ours; how many are cut (a pair may be padded and
    cut)."""

    pairs: int
    as_given: int
    padded: int
    other_fillers: int
    cut: int

    @classmethod
    def of(cls, pairs: Sequence[ScoredPair]) -> TextCounts:
        return cls(
            pairs=len(pairs),
            as_given=sum(not one.changed for one in pairs),
            padded=sum(one.padded and one.own for one in pairs),
            other_fillers=sum(one.padded and not one.own for one in pairs),
            cut=sum(one.cut for one in pairs),
        )

    def to_json(self) -> dict[str, int]:
        return asdict(self)

    def sentences(self, ranker: str) -> list[str]:
        """Sentences about texts that are not scored as given; none when all are."""
        found = []
        if self.padded:
            found.append(f"{self._share(self.padded)} not scored as given: fillers were put in (pad)")
        if self.other_fillers:
            found.append(
                f"{self._share(self.other_fillers)} scored with other fillers than in their text: fillers are "
                f"counted for the tokenizer of {ranker}"
            )
        if self.cut:
            found.append(f"{self._share(self.cut)} cut, before the change, to the length that {ranker} reads")
        return found

    def _share(self, count: int) -> str:
        return f"{count} of {self.pairs} pair{'s' if self.pairs != 1 else ''} {'is' if count == 1 else 'are'}"
