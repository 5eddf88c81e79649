"""What an axiom is: a value that makes minimal pairs from a query and a document.

    TFC1("append")     prints as it parses: TFC1:append

One file each, with the definition and its citation, registered by name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from random import Random
from typing import ClassVar

from whyrank.errors import UserError, nearest
from whyrank.text.alignment import Slotted
from whyrank.text.words import Analyzer, words

#: Name -> module and class, in the order in which reports show them.
AXIOMS = {
    "TFC1": "tfc1:TFC1",
    "TFC2": "tfc2:TFC2",
    "TFC3": "tfc3:TFC3",
    "M-TDC": "mtdc:MTDC",
    "TDC": "tdc:TDC",
    "STMC1": "stmc1:STMC1",
    "STMC2": "stmc2:STMC2",
    "LNC1": "lnc1:LNC1",
    "LNC2": "lnc2:LNC2",
    "TP": "tp:TP",
}


_stem = Analyzer()


class Skip(Exception):
    """Why a document gives no pair, in a few words, the same for all documents of that kind."""


@dataclass(frozen=True)
class Material:
    """A query and a document, and what an axiom may need around them.

    `term` is the selected query word, `terms` all that could be selected, the rarest first. `random` is
    the document's own, so that what one document gives does not depend on the others.
    """

    qid: str
    query: str
    docid: str
    text: str
    rank: int
    term: str
    terms: tuple[str, ...]
    random: Random
    filler: str
    idf: Callable[[str], float]
    synonym: Callable[[str], str | None]
    other_texts: Callable[[], list[tuple[str, str]]]
    foreign_sentences: Callable[[Random, int], list[str]]
    shorten: Callable[[str, float], str]

    def count(self, word: str) -> int:
        """How often a word stands in the document."""
        return words(self.text).count(word)

    def forms(self, word: str) -> int:
        """How often a word stands in the document in any form, that is, how often its stem does."""
        return _stem(self.text).count(_stem(word)[0])

    def same_stem(self, first: str, second: str) -> bool:
        """Whether two words are forms of one."""
        return _stem(first) == _stem(second)

    def rarer_and_commoner(self, gap: float = 1.0) -> list[tuple[str, str]]:
        """Pairs of query words, not forms of each other, whose IDF values are `gap` apart, the rarer one first."""
        pairs = [(a, b) for i, a in enumerate(self.terms) for b in self.terms[i + 1 :]]
        return [(a, b) for a, b in pairs if self.idf(a) - self.idf(b) >= gap and _stem(a) != _stem(b)]


@dataclass(frozen=True)
class Draft:
    """A pair before it is tokenised: slots, and what is particular to it."""

    slotted: Slotted
    term: str | None = None
    where: str | None = None
    k: int | None = None


class Axiom(ABC):
    """Makes minimal pairs; `prefers` is the side that should score higher."""

    name: ClassVar[str]
    variants: ClassVar[tuple[str, ...]]
    prefers: ClassVar[str] = "perturbed"
    citation: ClassVar[str]
    #: Words that the change adds at most: the document is cut so that they have room.
    room: ClassVar[int] = 1

    def __init__(self, variant: str | None = None) -> None:
        self.variant = variant or self.variants[0]
        if self.variant not in self.variants:
            raise UserError(
                f"{self.name} has no variant '{self.variant}'", todo=nearest(self.variant, self.variants)
            )

    @property
    def aligned(self) -> bool:
        """Whether the pairs' two sides stand token by token against each other, and can be patched."""
        return True

    @abstractmethod
    def drafts(self, material: Material) -> Iterator[Draft]:
        """The pairs of one document; raises Skip where it gives none."""

    def __str__(self) -> str:
        return f"{self.name}:{self.variant}"

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Axiom) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))


def parse_axiom(text: str) -> Axiom:
    """`TFC1` (its first variant) or `TFC1:prepend`."""
    name, _, variant = text.strip().partition(":")
    found = {known.lower(): known for known in AXIOMS}.get(name.lower())
    if found is None:
        raise UserError(f"unknown axiom '{name}'", todo=nearest(name.upper(), AXIOMS))
    module, cls = AXIOMS[found].split(":")
    return getattr(import_module(f"whyrank.axioms.{module}"), cls)(variant or None)


def parse_axioms(text: str) -> list[Axiom]:
    """Axioms with commas between them; `TFC1:*` is all variants of one, `all` all of all."""
    found: list[Axiom] = []
    for part in [*AXIOMS] if text.strip().lower() == "all" else text.split(","):
        name, _, variant = part.strip().partition(":")
        everything = variant == "*" or text.strip().lower() == "all"
        first = parse_axiom(name if everything else part)
        found += [type(first)(one) for one in first.variants] if everything else [first]
    return list(dict.fromkeys(found))


def appended(text: str, baseline: list[str], perturbed: list[str]) -> Slotted:
    """A text with slots after it, one space between all."""
    segments = (f"{text} ", *[" "] * (len(baseline) - 1), "")
    return Slotted(segments, tuple(baseline), tuple(perturbed))
