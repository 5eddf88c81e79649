"""TFC2: each further occurrence of a query term adds less.

Let q = {w}, |D1| = |D2| = |D3| and c(w, D1) > 0. If c(w, D2) - c(w, D1) = 1 and c(w, D3) - c(w, D2) = 1, then
f(D2, q) - f(D1, q) > f(D3, q) - f(D2, q).

A pair shows one step or the sum of steps; the axiom is about the curve over k. Each pair by itself should still
score higher on its perturbed side (TFC1), and the share that does not is the violation rate over k.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from whyrank.axioms.axiom import Axiom, Draft, Material, Skip, appended, parameter
from whyrank.core.errors import UserError
from whyrank.text.alignment import Slotted
from whyrank.text.sentences import sentence_spans

PRONOUNS = r"(?:It|They|He|She)"
#: What tells that the words before are a subject, and not part of one: `the tap is`, not `the tap water`.
VERB = (
    r"(?:is|are|was|were|has|have|had|can|could|will|would|may|might|should|must|does|do|did|\w+[^s\W]s|\w+ed)\b"
)


@dataclass(frozen=True, repr=False)
class TFC2(Axiom):
    """Variants: k against 0 occurrences (cumulative), k + 1 against k (marginal), both in as many slots for all k,
    filled up with fillers; sentences whose subject goes from pronoun to term, k of them (restore)."""

    name = "TFC2"
    variants = ("cumulative", "marginal", "restore")
    meaning = "Each further occurrence of a query term should add less to the score than the one before."
    citation = "Fang, Tao & Zhai 2004, A Formal Study of Information Retrieval Heuristics"
    #: The largest k; and how many places there are (50 in the papers; just enough unless given).
    most: int = parameter(10, 1, 500, variants=("cumulative", "marginal"))
    slots: int | None = parameter(None, 2, 501, kind=int, variants=("cumulative", "marginal"))

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.room <= self.most:
            raise UserError(f"TFC2: {self.slots} slots are too few", todo=f"give more than most={self.most}")

    @property
    def room(self) -> int:
        return self.most + 1 if self.slots is None else self.slots

    def drafts(self, material: Material) -> Iterator[Draft]:
        if self.variant == "restore":
            yield from self._restored(material)
            return
        for k in range(1, self.most + 1):
            baseline = 0 if self.variant == "cumulative" else k
            perturbed = k if self.variant == "cumulative" else k + 1
            contents = [[material.term] * n + [material.filler] * (self.room - n) for n in (baseline, perturbed)]
            yield Draft(appended(material.text, *contents), material.term, "end", k)

    def _restored(self, m: Material) -> Iterator[Draft]:
        """By rule: a sentence that begins with a pronoun, or with the term, has a subject that can be either."""
        subject = re.compile(
            rf"(?:{PRONOUNS}(?=\s)|(?:The |A |An )?{re.escape(m.term)}(?=\s{VERB}))", re.IGNORECASE
        )
        places = [match.span() for start, _ in sentence_spans(m.text) if (match := subject.match(m.text, start))]
        if not places:
            raise Skip("no sentence has a pronoun or the term as its subject")
        pronouns = [self._pronoun(m.text[start:end]) for start, end in places]
        for k in range(1, min(len(places), 5) + 1):
            restored = [m.term.capitalize()] * k + pronouns[k:]
            yield Draft(Slotted.at(m.text, places, pronouns, restored), m.term, "subject", k)

    def _pronoun(self, subject: str) -> str:
        return subject if re.fullmatch(PRONOUNS, subject, re.IGNORECASE) else "It"
