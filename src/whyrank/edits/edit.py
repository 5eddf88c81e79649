"""An edit as a value: terms, each with a direction and a scale. It prints and parses, composes, and is undone.

    edit = Edit.parse("up berlin=5, down plant=20")
    edit + Edit.of(up={"yellow": 2})                # one after the other
    with edit.apply(ranker) as edited:              # its own scores again after the block
        edited.rank(query, documents)
    edit.apply(ranker).save("edited")               # an ordinary checkpoint

With U_0 turned so that rarer words have less of it, and s the scale:

    up:    U_0'[t] = U_0[t] - (s - 1) |U_0[t]|          the ranker takes t for rarer: it counts for more
    down:  U_0'[t] = U_0[t] + (s - 1) |U_0[t]|          for more common: it counts for less

so that s = 1 changes nothing, whatever the sign. The authors of 'Pathway to Relevance' write -s |U_0| and
+s |U_0|, which flips a sign at s = 1 already: the rule `authors`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from whyrank.core.errors import UserError

if TYPE_CHECKING:
    from whyrank.collections.collection import Collection
    from whyrank.edits.saving import EditedRanker
    from whyrank.rankers.ranker import Ranker

DIRECTIONS = ("up", "down")
#: `from-one`: a scale of 1 changes nothing; `authors`: U_0' = -s |U_0| or +s |U_0|.
RULES = ("from-one", "authors")
#: Beyond this a row of float32 numbers may overflow.
LARGEST = 1e6
#: How an edit without terms prints.
NO_EDIT = "no edit"
#: Between the terms of an edit as it prints.
BETWEEN = re.compile(r",\s+(?=(?:up|down)\s)")
#: Terms with their scales: `{"berlin": 5}` or `["berlin=5"]`.
Scales = Mapping[str, float] | Iterable[str]


def check_rule(rule: str) -> None:
    """Raises for a rule that there is not."""
    if rule not in RULES:
        raise UserError(f"unknown rule '{rule}'", todo=f"choose {' or '.join(RULES)}")


@dataclass(frozen=True)
class TermEdit:
    """Turns one term up or down: `str(TermEdit("cat", "up", 5))` is `up cat=5`, which parses again."""

    term: str
    direction: str
    scale: float
    rule: str = "from-one"

    def __post_init__(self) -> None:
        if self.direction not in DIRECTIONS:
            raise UserError(f"an edit goes {' or '.join(DIRECTIONS)}, not '{self.direction}'")
        check_rule(self.rule)
        if not self.term.strip():
            raise UserError("an edit without a term", todo="write it like berlin=5")
        if BETWEEN.search(self.term):
            raise UserError(f"the term '{self.term}' reads like two edits", todo="give its words one by one")
        if not 1 <= self.scale <= LARGEST:
            raise UserError(
                f"a scale of {self.scale:g} for '{self.term}'",
                todo=f"give 1 (no change) to {LARGEST:g}; up or down says which way",
            )

    @classmethod
    def parse(cls, text: str, direction: str | None = None, rule: str = "from-one") -> TermEdit:
        """`berlin=5` with a direction, or `up berlin=5`, as an edit prints."""
        for other in RULES[1:]:
            if text.rstrip().endswith(f" ({other})"):
                text, rule = text.rstrip().removesuffix(f" ({other})"), other
        if direction is None:
            direction, _, text = text.strip().partition(" ")
        term, mark, scale = text.rpartition("=")
        number = _number(scale)
        if not mark or number is None:
            raise UserError(f"'{text}' is not an edit", todo="write a term and a scale: berlin=5")
        return cls(term.strip(), direction, number, rule)

    def __str__(self) -> str:
        rule = "" if self.rule == RULES[0] else f" ({self.rule})"
        return f"{self.direction} {self.term}={self.scale:.15g}{rule}"

    def turned(self, u: float) -> float:
        """U_0' of a piece whose U_0 is u."""
        sign = -1.0 if self.direction == "up" else 1.0
        return sign * self.scale * abs(u) if self.rule == "authors" else u + sign * (self.scale - 1) * abs(u)


@dataclass(frozen=True)
class Edit:
    """Edits of terms in the order in which they are made. They add up (`first + second`) and come off again
    (`undone`)."""

    parts: tuple[TermEdit, ...] = ()

    @classmethod
    def of(cls, up: Scales = (), down: Scales = (), rule: str = "from-one") -> Edit:
        """From `{"berlin": 5}` or `["berlin=5"]`, those that go up first."""
        return cls((*_terms(up, "up", rule), *_terms(down, "down", rule)))

    @classmethod
    def parse(cls, text: str) -> Edit:
        """`up berlin=5, down plant=20`, as an edit prints."""
        if text.strip() in ("", NO_EDIT):
            return cls()
        return cls(tuple(TermEdit.parse(one) for one in BETWEEN.split(text.strip())))

    @property
    def terms(self) -> tuple[str, ...]:
        """Each term once, in the order of its first edit."""
        return tuple(dict.fromkeys(one.term for one in self))

    def turned(self, term: str, u: float) -> float:
        """U_0' of a piece of this term: its edits in their order, each on what the one before left."""
        for one in self:
            if one.term == term:
                u = one.turned(u)
        return u

    def undone(self, count: int = 1) -> Edit:
        """Without the last one, or the last `count`."""
        return Edit(self.parts[: max(0, len(self) - count)])

    def apply(
        self, ranker: str | Ranker, collection: str | Collection | None = None, *, idf: str = "collection"
    ) -> EditedRanker:
        """The ranker with this edit: a context in which its scores are the edited ones, and a checkpoint to save.

        The IDF, counted in the collection or from a file, fixes which way is up (see `edits.dial`).
        """
        from whyrank.edits.api import edited_ranker

        return edited_ranker(ranker, self, collection, idf=idf)

    def __add__(self, other: Edit) -> Edit:
        return Edit(self.parts + other.parts)

    def __iter__(self) -> Iterator[TermEdit]:
        return iter(self.parts)

    def __len__(self) -> int:
        return len(self.parts)

    def __str__(self) -> str:
        return ", ".join(map(str, self)) or NO_EDIT


def _terms(scales: Scales, direction: str, rule: str) -> list[TermEdit]:
    if isinstance(scales, Mapping):
        return [TermEdit(term, direction, float(scale), rule) for term, scale in scales.items()]
    return [TermEdit.parse(text, direction, rule) for text in ([scales] if isinstance(scales, str) else scales)]


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
