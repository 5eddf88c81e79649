"""A line of a pairs file as a pair: typed, checked, refused by file and line."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal

from msgspec import Meta

from whyrank.axioms.axiom import Axiom
from whyrank.axioms.pair import MinimalPair
from whyrank.axioms.registry import own_axioms, parse_axiom
from whyrank.collections.gather import identifier
from whyrank.core.errors import UserError, quoted
from whyrank.core.json_file import NotJson, typed
from whyrank.core.lines import Line

NEEDED = ("id", "query", "baseline", "perturbed")
#: What each identifier is of.
IDENTIFIERS = {"id": "pair", "qid": "query", "docid": "document"}

#: Characters of an axiom's or a variant's name.
LONGEST_NAME = 100
#: Identifiers may be written as numbers.
Identifier = str | int
#: What fits into every table.
Count = Annotated[int, Meta(ge=0, le=2**31 - 1)]
Place = Annotated[int, Meta(ge=0)]


@dataclass(frozen=True)
class SpansOfSides:
    """`slot`: {"baseline": [[0, 1]], "perturbed": [[0, 4]]}."""

    baseline: list[tuple[Place, Place]]
    perturbed: list[tuple[Place, Place]]


@dataclass(frozen=True)
class TextsOfSides:
    """`contents`: {"baseline": ["a"], "perturbed": ["cats"]}."""

    baseline: list[str]
    perturbed: list[str]


@dataclass(frozen=True)
class PairRecord:
    """The keys of a pairs file and their types; a user's own file may hold others, which are not read."""

    id: Identifier
    query: str
    baseline: str
    perturbed: str
    axiom: str | None = None
    variant: str | None = None
    qid: Identifier | None = None
    docid: Identifier | None = None
    term: str | None = None
    where: str | None = None
    k: Count | None = None
    rank: Count | None = None
    tf: Count | None = None
    filler: str | None = None
    prefer: Literal["perturbed", "baseline"] | None = None
    aligned: bool | None = None
    slot: SpansOfSides | None = None
    contents: TextsOfSides | None = None


def pair_of(line: Line, row: dict[str, Any]) -> MinimalPair:
    """The pair of one line; where it has no id, the line's number is."""
    row = row if "id" in row else {"id": line.number, **row}
    missing = [key for key in NEEDED if row.get(key) is None or not str(row[key]).strip()]
    if missing:
        raise line.wrong(f"no {', '.join(missing)}", f"a pair has {', '.join(NEEDED)}, as text")
    try:
        record = typed(row, PairRecord)
    except NotJson as error:
        raise line.wrong(str(error), "see the pairs file in docs/axioms.md") from error
    values = {key: value for key, value in asdict(record).items() if value is not None}
    values |= {key: identifier(line, values[key], of) for key, of in IDENTIFIERS.items() if key in values}
    try:
        return MinimalPair(**_by_axiom(_checked(values)))
    except UserError as error:
        raise line.wrong(error.what, error.todo) from error


def _checked(values: dict[str, Any]) -> dict[str, Any]:
    for key in ("axiom", "variant"):  # they stand in tables and figures
        if len(name := values.get(key, "")) > LONGEST_NAME or not name.isprintable():
            raise UserError(f"{key} is {quoted(name)}", todo=f"at most {LONGEST_NAME} printable characters")
    if not values.get("filler", "a").strip():
        raise UserError("filler is blank", todo="give a word, or leave it out")
    if values["baseline"] == values["perturbed"]:
        raise UserError("baseline and perturbed are the same", todo="they must differ in one thing")
    return values


def _by_axiom(values: dict[str, Any]) -> dict[str, Any]:
    """What a known axiom says of its pairs holds for a user's own, and may not be contradicted."""
    if values.get("axiom") not in own_axioms():
        return values
    axiom = _axiom(values["axiom"], values.get("variant"))
    if values.get("prefer", axiom.prefers) != axiom.prefers:
        raise UserError(f"{axiom.name} prefers the {axiom.prefers}", todo="leave prefer out, or name no axiom")
    if values.get("aligned") and not axiom.aligned:
        raise UserError(f"pairs of {axiom} are not aligned by nature", todo="leave aligned out")
    return {"prefer": axiom.prefers, "aligned": axiom.aligned, **values}


def _axiom(name: str, variant: str | None) -> Axiom:
    try:
        return parse_axiom(":".join(part for part in (name, variant) if part))
    except UserError:
        return parse_axiom(name)  # a variant of the user's own
