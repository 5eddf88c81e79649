"""An edit as a value: terms, each with a direction and a scale. It prints and parses, composes, and is undone.

    edit = Edit.parse("up berlin=2sd, down plant=1.5idf")
    edit + Edit.of(up={"yellow": 1})                # one after the other; a plain number counts in sd
    with edit.apply(ranker) as edited:              # its own scores again after the block
        edited.rank(query, documents)
    edit.apply(ranker).save("edited")               # an ordinary checkpoint

U_0 is turned so that rarer words have less of it; up means rarer. With s the scale, the rules are

    sd       U_0'[t] = U_0[t] -+ s sd(U_0)          `berlin=2sd`: in standard deviations over whole words
    (units.py) idf      U_0'[t] = U_0[t] -+ s |slope|          `berlin=1.5idf`: as far as 1.5 of IDF are, by
    regression paper    U_0'[t] = U_0[t] -+ (s - 1) |U_0[t]|   `berlin=x5`: a multiple of |U_0|, which may be near
    0 authors  U_0'[t] = -+ s |U_0[t]|                the published code of 'Pathway to Relevance'; `x5 (authors)`

The first two move every word equally far; by the others a word moves the farther the farther its U_0 is from 0.
`paper` was once the default, under the name `from-one`, which is read as `paper`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from whyrank.core.errors import UserError

if TYPE_CHECKING:
    from whyrank.collections.collection import Collection
    from whyrank.edits.saving import EditedRanker
    from whyrank.edits.units import Units
    from whyrank.rankers.neural import NeuralRanker
    from whyrank.rankers.ranker import Ranker

DIRECTIONS = ("up", "down")
#: By the module's formulas, the default first.
RULES = ("sd", "idf", "paper", "authors")
#: Rules whose scale is a distance; the others' is a factor, of which 1 is the least.
DISTANCES = ("sd", "idf")
#: Earlier names of rules.
EARLIER = {"from-one": "paper"}
#: Beyond this a row of float32 numbers may overflow.
LARGEST = 1e6
#: The files that hold edits.
RECORDS = ("edits.json", "edit.json")
#: How an edit without terms prints.
NO_EDIT = "no edit"
#: Between the terms of an edit as it prints.
BETWEEN = re.compile(r",\s+(?=(?:up|down)\s)")
#: A scale as it is written: `5`, `2sd`, `1.5idf`, `x5`.
WRITTEN = re.compile(r"(?P<factor>x?)(?P<number>[^a-z]*?(?:e[-+]?\d+)?|inf|nan)(?P<unit>sd|idf|)", re.IGNORECASE)
#: Terms with their scales: `{"berlin": 2}` or `["berlin=2sd"]`.
Scales = Mapping[str, float | str] | Iterable[str]


def known_rule(rule: str) -> str:
    """The rule by its present name; raises for one that there is not."""
    rule = EARLIER.get(rule, rule)
    if rule not in RULES:
        raise UserError(f"unknown rule '{rule}'", todo=f"choose {', '.join(RULES[:-1])} or {RULES[-1]}")
    return rule


def least_scale(rule: str) -> float:
    """The scale that changes nothing (but by the rule `authors`)."""
    return 0.0 if rule in DISTANCES else 1.0


def scale_text(scale: float, rule: str) -> str:
    """`2sd`, `1.5idf`, `x5`, as a scale is written."""
    return f"{scale:.15g}{rule}" if rule in DISTANCES else f"x{scale:.15g}"


@dataclass(frozen=True)
class TermEdit:
    """Turns one term up or down: `str(TermEdit("cat", "up", 2))` is `up cat=2sd`, which parses again."""

    term: str
    direction: str
    scale: float
    rule: str = RULES[0]

    def __post_init__(self) -> None:
        if self.direction not in DIRECTIONS:
            raise UserError(f"an edit goes {' or '.join(DIRECTIONS)}, not '{self.direction}'")
        object.__setattr__(self, "rule", known_rule(self.rule))
        if not self.term.strip():
            raise UserError("an edit without a term", todo="write it like berlin=2sd")
        if BETWEEN.search(self.term):
            raise UserError(f"the term '{self.term}' reads like two edits", todo="give its words one by one")
        least = least_scale(self.rule)
        if not least <= self.scale <= LARGEST:
            raise UserError(
                f"a scale of {self.scale:g} for '{self.term}'",
                todo=f"give {least:g} (no change) to {LARGEST:g}; up or down says which way",
            )

    @classmethod
    def parse(cls, text: str, direction: str | None = None, rule: str = RULES[0]) -> TermEdit:
        """`berlin=2sd` with a direction, or `up berlin=2sd`, as an edit prints. A plain number is of the
        `rule`."""
        rule = known_rule(rule)
        if text.rstrip().endswith(" (authors)"):
            text, rule = text.rstrip().removesuffix(" (authors)"), "authors"
        if direction is None:
            direction, _, text = text.strip().partition(" ")
        term, mark, written = text.rpartition("=")
        found = _scale(written, rule)
        if not mark or found is None:
            raise UserError(f"'{text}' is not an edit", todo="write a term and a scale: berlin=2sd")
        return cls(term.strip(), direction, *found)

    def __str__(self) -> str:
        authors = " (authors)" if self.rule == "authors" else ""
        return f"{self.direction} {self.term}={self.written}{authors}"

    @property
    def written(self) -> str:
        """The scale with its unit."""
        return scale_text(self.scale, self.rule)

    def turned(self, u: float, units: Units | None = None) -> float:
        """U_0' of a piece whose U_0 is u; `units` are needed by the rules that count in them."""
        sign = -1.0 if self.direction == "up" else 1.0
        if self.rule == "authors":
            return sign * self.scale * abs(u)
        if self.rule == "paper":
            return u + sign * (self.scale - 1) * abs(u)
        assert units is not None, f"{self} needs the units of a ranker's dial"
        return u + sign * self.scale * (units.sd if self.rule == "sd" else units.idf)


@dataclass(frozen=True)
class RecordedTerm:
    """One term of a file of edits; its rule is always written there."""

    term: str
    direction: str
    scale: float
    rule: str


@dataclass(frozen=True)
class Recorded:
    """Of a file of edits, the edits; none in that of an alignment."""

    edits: tuple[RecordedTerm, ...] | None = None


@dataclass(frozen=True)
class Edit:
    """Edits of terms in the order in which they are made. They add up (`first + second`) and come off again
    (`undone`)."""

    parts: tuple[TermEdit, ...] = ()

    @classmethod
    def of(cls, up: Scales = (), down: Scales = (), rule: str = RULES[0]) -> Edit:
        """From `{"berlin": 2}` or `["berlin=2sd"]`, those that go up first; a plain number is of the `rule`."""
        return cls((*_terms(up, "up", rule), *_terms(down, "down", rule)))

    @classmethod
    def parse(cls, text: str) -> Edit:
        """`up berlin=2sd, down plant=1idf`, as an edit prints."""
        if text.strip() in ("", NO_EDIT):
            return cls()
        return cls(tuple(TermEdit.parse(one) for one in BETWEEN.split(text.strip())))

    @property
    def terms(self) -> tuple[str, ...]:
        """Each term once, in the order of its first edit."""
        return tuple(dict.fromkeys(one.term for one in self))

    @classmethod
    def read(cls, path: Path | str) -> Edit:
        """The edits that an edited checkpoint (edits.json) or a preview (edit.json) was made by; the folder or the
        file. Those of earlier versions mean what they meant then."""
        from whyrank.core.json_file import read_json

        path = Path(path)
        files = [path] if path.is_file() else [path / name for name in RECORDS if (path / name).is_file()]
        if not files:
            raise UserError("no edits here", where=path, todo=f"give a folder with {' or '.join(RECORDS)}")
        record = read_json(files[0], Recorded)
        if record.edits is None:
            raise UserError("these are no edits of terms", where=files[0], todo="give another file")
        return cls(tuple(TermEdit(one.term, one.direction, one.scale, one.rule) for one in record.edits))

    def turned(self, term: str, u: float, units: Units | None = None) -> float:
        """U_0' of a piece of this term: its edits in their order, each on what the one before left."""
        for one in self:
            if one.term == term:
                u = one.turned(u, units)
        return u

    def at(self, scale: float, rule: str = RULES[0]) -> Edit:
        """The same terms and directions, each at this scale."""
        return Edit(tuple(TermEdit(one.term, one.direction, scale, rule) for one in self))

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

    def view(
        self, ranker: str | Ranker, collection: str | Collection | None = None, *, side: str = "query",
        idf: str = "collection",
    ) -> NeuralRanker:  # fmt: skip
        """The ranker seen through this edit on one side, `query` or `document`, or on `both`: no weight changes,
        and several threads may use it (see `edits.view`)."""
        from whyrank.edits.view import view

        return view(ranker, self, side, collection, idf=idf)

    def __add__(self, other: Edit) -> Edit:
        return Edit(self.parts + other.parts)

    def __iter__(self) -> Iterator[TermEdit]:
        return iter(self.parts)

    def __len__(self) -> int:
        return len(self.parts)

    def __str__(self) -> str:
        return ", ".join(map(str, self)) or NO_EDIT


def plain_numbers(edit: str, *scales: Scales) -> list[str]:
    """The edits that are written without a unit."""
    found = [one for one in BETWEEN.split(edit) if one.strip() not in ("", NO_EDIT)]
    for some in scales:
        if isinstance(some, Mapping):
            found += [f"{term}={scale}" for term, scale in some.items()]
        else:
            found += [some] if isinstance(some, str) else list(some)
    return [one for one in found if _number(one.rpartition("=")[2]) is not None]


def _terms(scales: Scales, direction: str, rule: str) -> list[TermEdit]:
    if isinstance(scales, Mapping):
        return [TermEdit.parse(f"{term}={_written(scale)}", direction, rule) for term, scale in scales.items()]
    return [TermEdit.parse(text, direction, rule) for text in ([scales] if isinstance(scales, str) else scales)]


def _written(scale: float | str) -> str:
    return scale if isinstance(scale, str) else repr(float(scale))


def _scale(written: str, rule: str) -> tuple[float, str] | None:
    """The scale and its rule: that of its unit, or the one that is given."""
    match = WRITTEN.fullmatch(written.strip())
    number = _number(match["number"]) if match else None
    if match is None or number is None or (match["factor"] and match["unit"]):
        return None
    if match["unit"]:
        return number, match["unit"].lower()
    return number, (rule if rule == "authors" else "paper") if match["factor"] else rule


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
