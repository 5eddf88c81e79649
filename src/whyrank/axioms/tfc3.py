"""TFC3: with as many query-term occurrences, a document with more distinct query terms scores higher.

Let q = {w1, w2} with td(w1) = td(w2) and |D1| = |D2|. If c(w1, D2) = c(w1, D1) + c(w2, D1), c(w2, D2) = 0,
c(w1, D1) > 0 and c(w2, D1) > 0, then f(D1, q) > f(D2, q).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from whyrank.axioms.axiom import Axiom, Draft, Material, Skip, appended, parameter


@dataclass(frozen=True, repr=False)
class TFC3(Axiom):
    """Two query words of like IDF, both absent from the document: `w1 w1` against `w1 w2` after it."""

    name = "TFC3"
    variants = ("append",)
    meaning = (
        "Of two documents with equally many query-term occurrences, the one with more distinct "
        "query terms should score higher."
    )
    citation = "Fang, Tao & Zhai 2004, A Formal Study of Information Retrieval Heuristics"
    #: How far apart two IDF values may be to count as equal; no two words of a query have quite the same.
    tolerance: float = parameter(0.5, 0, 100)

    @property
    def room(self) -> int:
        return 2

    def drafts(self, material: Material) -> Iterator[Draft]:
        m = material
        absent = [word for word in m.terms if not m.forms(word)]
        pairs = [
            (first, second)
            for i, first in enumerate(absent)
            for second in absent[i + 1 :]
            if abs(m.idf(first) - m.idf(second)) <= self.tolerance and not m.same_stem(first, second)
        ]
        if not pairs:
            raise Skip("no two query words of like IDF are absent from the text")
        first, second = m.random.choice(pairs)
        if m.random.random() < 0.5:
            first, second = second, first
        yield Draft(appended(m.text, [first, first], [first, second]), second, "end")
