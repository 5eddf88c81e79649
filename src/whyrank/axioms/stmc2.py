"""STMC2: a query term itself is at least as good as any number of words related to it.

Let q = {w} and d another word. If |D1| = 1, c(w, D1) = 1 and |D2| = k, c(d, D2) = k, then f(D1, q) >= f(D2, q).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from whyrank.axioms.axiom import Axiom, Draft, Material, Skip, appended, parameter


@dataclass(frozen=True, repr=False)
class STMC2(Axiom):
    """k times the synonym against the term once, filled up with fillers, after the document."""

    name = "STMC2"
    variants = ("append",)
    meaning = "A query term itself should count at least as much as any number of words related to it."
    citation = "Fang & Zhai 2006, Semantic Term Matching in Axiomatic Approaches to Information Retrieval"
    #: Occurrences of the synonym.
    times: int = parameter(3, 1, 100)

    @property
    def room(self) -> int:
        return self.times

    def drafts(self, material: Material) -> Iterator[Draft]:
        m = material
        synonym = m.synonym(m.term)
        if synonym is None:
            raise Skip("no synonym is known for the term")
        once = [m.term] + [m.filler] * (self.times - 1)
        yield Draft(appended(m.text, [synonym] * self.times, once), m.term, "end", self.times)
