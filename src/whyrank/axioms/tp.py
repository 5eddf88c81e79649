"""TP: query terms that stand closer together score higher.

Let q = {w1, w2}, and D1, D2 hold the same words. If the distance between w1 and w2 is smaller in D1 than in D2,
then f(D1, q) > f(D2, q).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from whyrank.axioms.axiom import Axiom, Draft, Material, Skip, appended, parameter


@dataclass(frozen=True, repr=False)
class TP(Axiom):
    """Two query words in the order of the query, with fillers between them or after them, after the document."""

    name = "TP"
    variants = ("append",)
    meaning = "Query terms that stand closer together should score higher."
    citation = "Tao & Zhai 2007, An Exploration of Proximity Measures in Information Retrieval"
    #: Fillers between the two words.
    distance: int = parameter(8, 1, 200)

    @property
    def room(self) -> int:
        return self.distance + 2

    def drafts(self, material: Material) -> Iterator[Draft]:
        m = material
        if len(m.terms) < 2:
            raise Skip("the query has fewer than two content words")
        chosen = m.random.sample(m.terms, 2)
        first, second = sorted(chosen, key=lambda word: m.query.lower().find(word))
        fillers = [m.filler] * self.distance
        yield Draft(appended(m.text, [first, *fillers, second], [first, second, *fillers]), second, "end")
