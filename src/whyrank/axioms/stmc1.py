"""STMC1: a word related to a query term is better than one that is not.

Let q = {w} and D1 = {t1}, D2 = {t2} with t1, t2 other than w. If s(w, t1) > s(w, t2), then f(D1, q) > f(D2, q).
"""

from __future__ import annotations

from collections.abc import Iterator

from whyrank.axioms.axiom import Axiom, Draft, Material, Skip, appended


class STMC1(Axiom):
    """The filler against the term's synonym, after the document."""

    name = "STMC1"
    variants = ("append",)
    meaning = (
        "A document with a word related to a query term, such as a synonym, should score higher than one without."
    )
    citation = "Fang & Zhai 2006, Semantic Term Matching in Axiomatic Approaches to Information Retrieval"

    def drafts(self, material: Material) -> Iterator[Draft]:
        synonym = material.synonym(material.term)
        if synonym is None:
            raise Skip("no synonym is known for the term")
        yield Draft(appended(material.text, [material.filler], [synonym]), material.term, "end")
