"""TFC1: a document with more occurrences of a query term scores higher.

Let q = {w} and |D1| = |D2|. If c(w, D1) > c(w, D2), then f(D1, q) > f(D2, q).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from whyrank.axioms.axiom import Axiom, Draft, Material, Skip, appended, parameter
from whyrank.text.alignment import Slotted
from whyrank.text.sentences import sentence_spans, sentences
from whyrank.text.words import word_spans, words


@dataclass(frozen=True, repr=False)
class TFC1(Axiom):
    """Variants: the term is injected at the end (append), the start (prepend) or a boundary inside (middle), a
    filler on the other side; every occurrence in the text is replaced by a filler (replace); sentences with the
    term, from the query's other documents, against as many without it (expansion); two documents of the query
    that differ in the term's frequency and agree in length (natural)."""

    name = "TFC1"
    variants = ("append", "prepend", "middle", "replace", "expansion", "natural")
    meaning = "A document in which a query term occurs more often should score higher."
    citation = "Fang, Tao & Zhai 2004, A Formal Study of Information Retrieval Heuristics"
    #: Sentences that an expansion adds; and how far the lengths of natural pairs may differ.
    sentences: int = parameter(2, 1, 100, variants=("expansion",))
    tolerance: float = parameter(0.1, 0, 1, variants=("natural",))

    @property
    def aligned(self) -> bool:
        return self.variant not in ("expansion", "natural")

    def drafts(self, material: Material) -> Iterator[Draft]:
        slotted, where = getattr(self, f"_{self.variant}")(material)
        yield Draft(slotted, material.term, where)

    def _append(self, m: Material) -> tuple[Slotted, str]:
        return appended(m.text, [m.filler], [m.term]), "end"

    def _prepend(self, m: Material) -> tuple[Slotted, str]:
        return Slotted(("", f" {m.text}"), (m.filler,), (m.term,)), "start"

    def _middle(self, m: Material) -> tuple[Slotted, str]:
        """At a sentence boundary where there is one, else at a word boundary."""
        boundaries = [start for start, _ in sentence_spans(m.text)[1:]]
        where = "sentence boundary" if boundaries else "word boundary"
        boundaries = boundaries or [start for _, start, _ in word_spans(m.text)[1:] if m.text[start - 1].isspace()]
        if not boundaries:
            raise Skip("a text of one word has no middle")
        place = m.random.choice(boundaries)
        return Slotted((m.text[:place], f" {m.text[place:]}"), (m.filler,), (m.term,)), where

    def _replace(self, m: Material) -> tuple[Slotted, str]:
        places = [(start, end) for word, start, end in word_spans(m.text) if word == m.term]
        if not places:
            raise Skip("the term is not in the text")
        originals = [m.text[start:end] for start, end in places]
        return Slotted.at(m.text, places, [m.filler] * len(places), originals), f"{len(places)} places"

    def _expansion(self, m: Material) -> tuple[Slotted, str]:
        own = sentences(m.text)
        other = [one for _, text in m.other_texts() for one in sentences(text) if one not in own]
        having = [one for one in dict.fromkeys(other) if m.term in words(one)]
        lacking = [one for one in dict.fromkeys(other) if m.term not in words(one)]
        if min(len(having), len(lacking)) < self.sentences:
            raise Skip("too few sentences with and without the term in the query's other documents")
        added = [" ".join(m.random.sample(some, self.sentences)) for some in (lacking, having)]
        return appended(m.random.choice(own), added[:1], added[1:]), "sentences"

    def _natural(self, m: Material) -> tuple[Slotted, str]:
        size, mine = len(words(m.text)), m.count(m.term)
        others = [m.shorten(text, 1.0) for _, text in m.other_texts()]
        near = [
            text
            for text in others
            if words(text).count(m.term) > mine and abs(len(words(text)) - size) <= self.tolerance * size
        ]
        if not near:
            raise Skip("no document of like length has the term more often")
        return Slotted(("", ""), (m.text,), (m.random.choice(near),)), "whole document"
