"""What an axiom is: a value that makes minimal pairs from a query and a document.

    TFC1("append")                   prints as it parses: TFC1:append
    TFC2("cumulative", most=5)       TFC2:cumulative:most=5

Its text, equality and hash hold all its parameters (the text omits those at their default). One file
each, with the definition and its citation, registered by name (`registry.py`).

An axiom of your own is a subclass with a `name` and `drafts`:

    class Shouting(Axiom):
        name = "SHOUT"

        def drafts(self, material):
            yield Draft(appended(material.text, ["yes"], ["YES"]), where="end")
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import Field, dataclass, field, fields
from random import Random
from typing import Any, ClassVar

from whyrank.core.errors import UserError, nearest
from whyrank.text.alignment import Slotted
from whyrank.text.words import Analyzer, words


class Skip(Exception):
    """Why a document makes no pair, in a few words, the same for all documents of that kind."""


@dataclass(frozen=True)
class Material:
    """A query and a document, and what an axiom may need around them.

    `term` is the selected query word, `terms` all that could be selected, the rarest first. `random` is
    the document's own, so that the pairs of one document do not depend on the others. `stem` is the
    collection's analyzer: two words are forms of one if it says so.
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
    stem: Analyzer = field(default_factory=Analyzer)

    def count(self, word: str) -> int:
        """How often a word stands in the document."""
        return words(self.text).count(word)

    def forms(self, word: str) -> int:
        """How often a word stands in the document in any form, that is, how often its stem does."""
        return self.stem(self.text).count(self.stem(word)[0])

    def same_stem(self, first: str, second: str) -> bool:
        """Whether two words are forms of one."""
        return self.stem(first) == self.stem(second)

    def rarer_and_commoner(self, gap: float = 1.0) -> list[tuple[str, str]]:
        """Pairs of query words, not forms of each other, whose IDF values are `gap` apart, the rarer one first."""
        pairs = [(a, b) for i, a in enumerate(self.terms) for b in self.terms[i + 1 :]]
        return [(a, b) for a, b in pairs if self.idf(a) - self.idf(b) >= gap and not self.same_stem(a, b)]


@dataclass(frozen=True)
class Draft:
    """A pair before it is tokenised: slots, and what is particular to it."""

    slotted: Slotted
    term: str | None = None
    where: str | None = None
    k: int | None = None


def parameter(
    default: Any, least: float, most: float, *, kind: type | None = None, variants: tuple[str, ...] = ()
) -> Any:
    """A parameter of an axiom: a field with its type (the default's unless given), its range, and which variants
    it is for (all unless given)."""
    about = {"kind": kind or type(default), "least": least, "most": most, "variants": variants}
    return field(default=default, metadata=about)


@dataclass(frozen=True, repr=False)
class Axiom(ABC):
    """Makes minimal pairs; `prefers` is the side that should score higher. Parameters are fields (`parameter`)."""

    name: ClassVar[str]
    variants: ClassVar[tuple[str, ...]] = ("plain",)
    prefers: ClassVar[str] = "perturbed"
    citation: ClassVar[str] = ""
    #: What it asks, in one plain sentence: the entry in the glossary of reports.
    meaning: ClassVar[str] = ""
    variant: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "variant", self.variant or self.variants[0])
        if self.variant not in self.variants:
            raise UserError(
                f"{self.name} has no variant '{self.variant}'", todo=nearest(self.variant, self.variants)
            )
        for one in self.parameters():
            object.__setattr__(self, one.name, _checked(self, one, getattr(self, one.name)))

    @classmethod
    def parameters(cls) -> list[Field[Any]]:
        """What can be set beside the variant."""
        return [one for one in fields(cls) if one.name != "variant"]

    @property
    def room(self) -> int:
        """Words that the change adds at most: the document is cut so that they have room."""
        return 1

    @property
    def aligned(self) -> bool:
        """Whether the pairs' two sides stand token by token against each other, and can be patched."""
        return True

    @abstractmethod
    def drafts(self, material: Material) -> Iterator[Draft]:
        """The pairs of one document; raises Skip where there is none."""

    @property
    def full_variant(self) -> str:
        """The variant with all parameters that are not at their default: `cumulative:most=5`."""
        given = [(one.name, getattr(self, one.name)) for one in self.parameters()]
        defaults = {one.name: one.default for one in self.parameters()}
        return ":".join([self.variant, *(f"{name}={value}" for name, value in given if value != defaults[name])])

    def __str__(self) -> str:
        return f"{self.name}:{self.full_variant}"

    __repr__ = __str__


def _checked(axiom: Axiom, one: Field[Any], value: Any) -> Any:
    """A parameter's value, of its type, in its range, and for this variant; None only where it is the default."""
    kind, least, most, variants = (one.metadata[key] for key in ("kind", "least", "most", "variants"))
    if value is None and one.default is None:
        return None
    fits = isinstance(value, int | float if kind is float else int) and not isinstance(value, bool)
    if not fits or not least <= value <= most:
        raise UserError(f"{axiom.name}: {one.name} is {value!r}", todo=f"it must be {range_of(one)}")
    if variants and axiom.variant not in variants and value != one.default:
        todo = f"it is for {' and '.join(variants)}"
        raise UserError(f"{axiom.name}:{axiom.variant} has no parameter '{one.name}'", todo=todo)
    return kind(value) + kind(0)  # -0.0 is 0.0


def range_of(one: Field[Any]) -> str:
    """The range of a parameter, in words."""
    kind = "a whole number" if one.metadata["kind"] is int else "a number"
    return f"{kind} from {one.metadata['least']} to {one.metadata['most']}"


def plain_variant(variant: str | None) -> str | None:
    """The variant without its parameters: `cumulative` of `cumulative:most=5`."""
    return variant.partition(":")[0] if variant else variant


def appended(text: str, baseline: list[str], perturbed: list[str]) -> Slotted:
    """A text with slots after it, one space between all."""
    segments = (f"{text} ", *[" "] * (len(baseline) - 1), "")
    return Slotted(segments, tuple(baseline), tuple(perturbed))
