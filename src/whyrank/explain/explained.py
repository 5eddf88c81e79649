"""What an account of a score is made from, and the parts that all accounts share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from whyrank.circuits.head import Head
from whyrank.circuits.semantic_bm.ranker import SemanticBMRanker
from whyrank.explain.account import MechanismPart
from whyrank.explain.explanation import TermEffect
from whyrank.explain.parts import places_of
from whyrank.explain.removal import Removal
from whyrank.explain.scored import ScoredTexts
from whyrank.rankers.ranker import Pair
from whyrank.text.tokens import Span
from whyrank.text.words import word_spans


@dataclass(frozen=True)
class Fitted:
    """A SemanticBM of this very ranker, and its Pearson correlation with it on its own test queries."""

    model: SemanticBMRanker
    held_out: float | None


@dataclass(frozen=True)
class Explained:
    """A pair, its texts scored so far, and the effects that were found, the strongest first. `matching` are the
    heads of a cross-encoder that are known to match words, `fitted` a SemanticBM that was fitted to it."""

    texts: ScoredTexts
    query: str
    document: str
    removal: Removal
    query_terms: Sequence[TermEffect]
    terms: Sequence[TermEffect]
    matching: tuple[Head, ...] = ()
    fitted: Fitted | None = None

    @property
    def pair(self) -> Pair:
        return self.query, self.document

    @property
    def score(self) -> float:
        return self.texts[self.pair]


def cuts(text: str) -> dict[str, list[Span]]:
    """Where each distinct word stands."""
    return places_of(word_spans(text))


def part(
    query: str, found: tuple[str, Span] | None, weight: float | None, match: float | None, contribution: float
) -> MechanismPart:
    """A part whose words in the document are `found`, text and place."""
    if found is None:
        return MechanismPart(query, None, None, None, weight, match, contribution)
    text, (start, end) = found
    return MechanismPart(query, text, start, end, weight, match, contribution)
