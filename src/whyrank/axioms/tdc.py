"""TDC: of two query terms, the rarer one counts for more.

Let q = {w1, w2} and |D1| = |D2|. If c(w1, D1) + c(w2, D1) = c(w1, D2) + c(w2, D2), idf(w1) > idf(w2) and
c(w1, D1) > c(w1, D2), then f(D1, q) > f(D2, q).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from whyrank.axioms.axiom import Axiom, Draft, Material, Skip, appended, parameter


@dataclass(frozen=True, repr=False)
class TDC(Axiom):
    """Two query words that stand in the document equally often: the commoner against the rarer, after it."""

    name = "TDC"
    variants = ("append",)
    meaning = "Of two query terms, the rarer one should count for more."
    citation = "Fang, Tao & Zhai 2004, A Formal Study of Information Retrieval Heuristics"
    #: How far apart the IDF values of the two words are at least.
    gap: float = parameter(1.0, 0, 100)

    def drafts(self, material: Material) -> Iterator[Draft]:
        m = material
        pairs = [pair for pair in m.rarer_and_commoner(self.gap) if m.forms(pair[0]) == m.forms(pair[1])]
        if not pairs:
            raise Skip("no two query words of different IDF stand in the text equally often")
        rare, common = m.random.choice(pairs)
        yield Draft(appended(m.text, [common], [rare]), rare, "end")
