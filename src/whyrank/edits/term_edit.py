"""An edit as a value: a term, a direction, a scale. It prints and parses, composes, undoes, and saves as JSON.

With U_0 turned so that rarer words have less of it, and s the scale:

    up:    U_0'[t] = U_0[t] - (s - 1) |U_0[t]|          the ranker takes t for rarer: it counts for more
    down:  U_0'[t] = U_0[t] + (s - 1) |U_0[t]|          for more common: it counts for less

so that s = 1 changes nothing, whatever the sign. The authors of 'Pathway to Relevance' write -s |U_0| and
+s |U_0|, which flips a sign at s = 1 already: the rule `authors`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from whyrank.core.errors import UserError

DIRECTIONS = ("up", "down")
#: `from-one`: a scale of 1 changes nothing; `authors`: U_0' = -s |U_0| or +s |U_0|.
RULES = ("from-one", "authors")
#: Beyond this a row of float32 numbers may overflow.
LARGEST = 1e6


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
        if not 1 <= self.scale <= LARGEST:
            raise UserError(
                f"a scale of {self.scale:g} for '{self.term}'",
                todo=f"give 1 (no change) to {LARGEST:g}; --up and --down say where to",
            )

    @classmethod
    def parse(cls, text: str, direction: str | None = None, rule: str = "from-one") -> TermEdit:
        """`berlin=5` with a direction, or `up berlin=5`, as an edit prints."""
        for other in RULES[1:]:
            if text.rstrip().endswith(f" ({other})"):
                text, rule = text.rstrip().removesuffix(f" ({other})"), other
        head, _, rest = text.strip().partition(" ")
        if direction is None:
            direction, text = head, rest
        term, mark, scale = text.rpartition("=")
        try:
            number = float(scale)
        except ValueError:
            mark = ""
            number = math.nan
        if not mark:
            raise UserError(f"'{text}' is no edit", todo="write a term and a scale: berlin=5")
        return cls(term.strip(), direction, number, rule)

    def __str__(self) -> str:
        told = "" if self.rule == RULES[0] else f" ({self.rule})"
        return f"{self.direction} {self.term}={self.scale:.15g}{told}"

    def turned(self, u: float) -> float:
        """U_0' of a piece whose U_0 is u."""
        sign = -1.0 if self.direction == "up" else 1.0
        return sign * self.scale * abs(u) if self.rule == "authors" else u + sign * (self.scale - 1) * abs(u)

    def to_json(self) -> dict[str, Any]:
        return {"term": self.term, "direction": self.direction, "scale": self.scale, "rule": self.rule}


@dataclass(frozen=True)
class Edits:
    """Edits in the order in which they are made. They add up (`first + second`) and come off again (`undone`)."""

    edits: tuple[TermEdit, ...] = ()

    @classmethod
    def of(cls, up: Iterable[str] = (), down: Iterable[str] = (), rule: str = "from-one") -> Edits:
        """From `berlin=5`, those that go up first."""
        return cls(
            tuple(
                TermEdit.parse(text, direction, rule)
                for direction, texts in (("up", up), ("down", down))
                for text in texts
            )
        )

    @classmethod
    def from_json(cls, told: Iterable[dict[str, Any]]) -> Edits:
        return cls(tuple(TermEdit(**one) for one in told))

    def to_json(self) -> list[dict[str, Any]]:
        return [edit.to_json() for edit in self.edits]

    @property
    def terms(self) -> tuple[str, ...]:
        """Each term once, in the order of its first edit."""
        return tuple(dict.fromkeys(edit.term for edit in self.edits))

    def turned(self, term: str, u: float) -> float:
        """U_0' of a piece of this term: its edits in their order, each on what the one before left."""
        for edit in self.edits:
            if edit.term == term:
                u = edit.turned(u)
        return u

    def undone(self, count: int = 1) -> Edits:
        """Without the last one, or the last `count`."""
        return Edits(self.edits[: max(0, len(self.edits) - count)])

    def __add__(self, other: Edits) -> Edits:
        return Edits(self.edits + other.edits)

    def __iter__(self) -> Iterator[TermEdit]:
        return iter(self.edits)

    def __len__(self) -> int:
        return len(self.edits)

    def __str__(self) -> str:
        return ", ".join(map(str, self.edits)) or "no edit"
