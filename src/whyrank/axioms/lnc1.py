"""LNC1: words that are not in the query do not raise the score.

Let w' be a word that is not in q. If c(w', D2) = c(w', D1) + 1 and c(w, D2) = c(w, D1) for every other word w,
then f(D1, q) >= f(D2, q).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from whyrank.axioms.axiom import Axiom, Draft, Material, Skip, parameter
from whyrank.text.alignment import Slotted


@dataclass(frozen=True, repr=False)
class LNC1(Axiom):
    """k sentences from a document of another query, without any word of this one, after the document."""

    name = "LNC1"
    variants = ("sentences",)
    prefers = "baseline"
    meaning = "Added text without any query word should not raise the score."
    citation = "Fang, Tao & Zhai 2004, A Formal Study of Information Retrieval Heuristics"
    #: Sentences that are added at most.
    most: int = parameter(5, 1, 100)

    @property
    def aligned(self) -> bool:
        return False

    def drafts(self, material: Material) -> Iterator[Draft]:
        k = material.random.randint(1, self.most)
        added = material.foreign_sentences(material.random, k)
        if len(added) < k:
            raise Skip("no sentences of other queries without this query's words")
        yield Draft(Slotted((material.text, ""), ("",), (" " + " ".join(added),)), None, "end", k)
