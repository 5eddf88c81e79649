"""LNC2: a document written down k times over scores no lower than the document.

If k > 1, |D1| = k |D2| and c(w, D1) = k c(w, D2) for every word w, then f(D1, q) >= f(D2, q).
"""

from __future__ import annotations

from collections.abc import Iterator

from whyrank.axioms.axiom import Axiom, Draft, Material
from whyrank.text.alignment import Slotted


class LNC2(Axiom):
    """The document, cut so that twice of it fits, against itself twice."""

    name = "LNC2"
    variants = ("double",)
    meaning = "A document written down twice should score no lower than the document itself."
    citation = "Fang, Tao & Zhai 2004, A Formal Study of Information Retrieval Heuristics"

    @property
    def aligned(self) -> bool:
        return False

    def drafts(self, material: Material) -> Iterator[Draft]:
        text = material.shorten(material.text, 0.5)
        yield Draft(Slotted(("", ""), (text,), (f"{text} {text}",)), None, "whole document", 2)
