"""M-TDC: TDC for documents that are the same but for two query terms that change places.

Let q = {w1, w2}, |D1| = |D2|, c(w1, D1) = c(w2, D2) and c(w2, D1) = c(w1, D2). If idf(w1) > idf(w2) and
c(w1, D1) > c(w1, D2), then f(D1, q) > f(D2, q).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from whyrank.axioms.axiom import Axiom, Draft, Material, Skip, parameter
from whyrank.text.alignment import Slotted
from whyrank.text.words import word_spans


@dataclass(frozen=True, repr=False)
class MTDC(Axiom):
    """All occurrences of two query words in the document are swapped; more of the rarer is preferred."""

    name = "M-TDC"
    variants = ("swap",)
    meaning = (
        "Of two documents that are the same but for two query terms that change places, the one "
        "with more of the rarer term should score higher."
    )
    citation = "Shi, Wen, Yu, Song & Ma 2005, Gravitation-Based Model for Information Retrieval"
    #: How far apart the IDF values of the two words are at least.
    gap: float = parameter(1.0, 0, 100)

    def drafts(self, material: Material) -> Iterator[Draft]:
        m = material
        pairs = [pair for pair in m.rarer_and_commoner(self.gap) if self._differ(m, *pair)]
        if not pairs:
            raise Skip("no two query words of different IDF stand in the text unequally often")
        rare, common = m.random.choice(pairs)
        places = [(word, start, end) for word, start, end in word_spans(m.text) if word in (rare, common)]
        spans = [(start, end) for _, start, end in places]
        original = tuple(m.text[start:end] for _, start, end in places)
        swapped = tuple(_as_written(common if word == rare else rare, m.text[a:b]) for word, a, b in places)
        sides = (swapped, original) if m.count(rare) > m.count(common) else (original, swapped)
        yield Draft(Slotted.at(m.text, spans, *sides), rare, f"{len(places)} places")

    def _differ(self, m: Material, rare: str, common: str) -> bool:
        """Whether the words stand unequally often, and in no other form, which a swap would leave behind."""
        plain = all(m.count(word) == m.forms(word) for word in (rare, common))
        return plain and m.count(rare) != m.count(common)


def _as_written(word: str, model: str) -> str:
    """With a capital where the word it stands for has one."""
    return word.capitalize() if model[:1].isupper() else word
