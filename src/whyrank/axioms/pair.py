"""Minimal pairs: a query and two documents that differ in one feature; and the file they are kept in."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from whyrank.collections.gather import identifier
from whyrank.errors import UserError
from whyrank.store.atomic import whole_file
from whyrank.store.lines import Line, read_json_lines
from whyrank.text.alignment import Slotted
from whyrank.text.tokens import Span

SIDES = ("baseline", "perturbed")
NEEDED = ("id", "query", "baseline", "perturbed")


@dataclass(frozen=True)
class MinimalPair:
    """One line of a pairs file.

    `slot` has, for each text, the spans of characters where it may differ from the other; `contents`
    what stands there before fillers are added, so that fillers are counted anew for each tokenizer.
    `prefer` is the side that should score higher. `aligned` says whether the pair can be patched.
    """

    id: str
    query: str
    baseline: str
    perturbed: str
    axiom: str | None = None
    variant: str | None = None
    qid: str | None = None
    docid: str | None = None
    term: str | None = None
    where: str | None = None
    k: int | None = None
    rank: int | None = None
    tf: int | None = None
    filler: str = "a"
    prefer: str = "perturbed"
    aligned: bool = True
    slot: dict[str, list[Span]] | None = None
    contents: dict[str, list[str]] | None = None

    @property
    def slotted(self) -> Slotted:
        """The pair as shared segments and contents, as if no filler had been added."""
        if self.slot is None:
            return slotted_by_words(self.baseline, self.perturbed, self.filler if self.aligned else "")
        found = Slotted.of_spans(self.baseline, self.perturbed, (self.slot["baseline"], self.slot["perturbed"]))
        if self.contents is None:
            return found
        return Slotted(found.segments, tuple(self.contents["baseline"]), tuple(self.contents["perturbed"]))

    def to_json(self) -> str:
        return json.dumps(
            {key: value for key, value in asdict(self).items() if value is not None}, ensure_ascii=False
        )


def word_differences(baseline: str, perturbed: str) -> dict[str, list[Span]]:
    """The spans in which two texts differ, by words, for pairs whose author gave none."""
    texts = {"baseline": baseline, "perturbed": perturbed}
    spans = {side: _chunks(text) for side, text in texts.items()}
    chunks = {side: [texts[side][a:b] for a, b in spans[side]] for side in texts}
    found: dict[str, list[Span]] = {"baseline": [], "perturbed": []}
    matcher = SequenceMatcher(None, chunks["baseline"], chunks["perturbed"], autojunk=False)
    for kind, a, b, c, d in matcher.get_opcodes():
        if kind != "equal":
            found["baseline"].append(_hull(spans["baseline"], a, b, len(baseline)))
            found["perturbed"].append(_hull(spans["perturbed"], c, d, len(perturbed)))
    return found


def slotted_by_words(baseline: str, perturbed: str, filler: str) -> Slotted:
    """Two texts with slots where their words differ; white space stays outside, and a side with nothing gets a
    filler, so that an inserted word stands against one; without a filler, the texts as they are."""
    spans = word_differences(baseline, perturbed)
    found = Slotted.of_spans(baseline, perturbed, (spans["baseline"], spans["perturbed"]))
    if not filler:
        return found
    segments, sides = list(found.segments), [list(found.baseline), list(found.perturbed)]
    for i in range(len(found.baseline)):
        full = next((side[i] for side in sides if side[i].strip()), "")
        before, after = full[: len(full) - len(full.lstrip())], full[len(full.rstrip()) :]
        segments[i] += before
        segments[i + 1] = after + segments[i + 1]
        for side in sides:
            side[i] = side[i].strip() or filler
    return Slotted(tuple(segments), tuple(sides[0]), tuple(sides[1]))


def _chunks(text: str) -> list[Span]:
    """White space and what is not, by turns, so that the chunks together are the text."""
    return [match.span() for match in re.finditer(r"\s+|\w+|[^\w\s]", text)]


def _hull(spans: list[Span], first: int, last: int, end: int) -> Span:
    start = spans[first][0] if first < len(spans) else end
    return (start, spans[last - 1][1]) if last > first else (start, start)


def write_pairs(path: Path | str, pairs: Iterable[MinimalPair]) -> None:
    """JSON lines, whole or not at all; the same pairs give the same bytes."""
    with whole_file(Path(path)) as partial, partial.open("w", encoding="utf-8", newline="\n") as file:
        for pair in pairs:
            file.write(pair.to_json() + "\n")


def read_pairs(path: Path | str) -> list[MinimalPair]:
    """The pairs of a file, ours or a user's own; refused at the line where something is wrong."""
    pairs: dict[str, MinimalPair] = {}
    for line, row in read_json_lines(path):
        pair = _pair(line, row)
        if pair.id in pairs:
            raise line.wrong(f"pair {pair.id!r} appears twice", "give each pair its own id")
        pairs[pair.id] = pair
    if not pairs:
        raise UserError("an empty file: no pair in it", where=path)
    return list(pairs.values())


def line_of(path: Path | str, pair_id: str) -> int | None:
    """The line of a file on which a pair stands."""
    return next((line.number for line, row in read_json_lines(path) if str(row.get("id")) == pair_id), None)


def _pair(line: Line, row: dict[str, Any]) -> MinimalPair:
    missing = [key for key in NEEDED if not isinstance(row.get(key), str | int) or not str(row[key]).strip()]
    if missing:
        raise line.wrong(f"no {', '.join(missing)}", f"a pair has {', '.join(NEEDED)}, as text")
    values = {key: _typed(line, key, row[key]) for key in TYPES if row.get(key) is not None}
    if values["baseline"] == values["perturbed"]:
        raise line.wrong("baseline and perturbed are the same", "they must differ in one thing")
    if values.get("prefer", "perturbed") not in SIDES:
        raise line.wrong(f"prefer is {values['prefer']!r}", "it must be baseline or perturbed")
    return MinimalPair(**{**_by_axiom(line, values), **_slots(line, row, values)})


#: The keys of a pairs file and what they hold; identifiers may be written as numbers.
TYPES: dict[str, type] = {
    "id": str, "query": str, "baseline": str, "perturbed": str, "axiom": str, "variant": str, "qid": str,
    "docid": str, "term": str, "where": str, "k": int, "rank": int, "tf": int, "filler": str, "prefer": str,
    "aligned": bool,
}  # fmt: skip
IDENTIFIERS = ("id", "qid", "docid")


def _typed(line: Line, key: str, value: Any) -> Any:
    if key in IDENTIFIERS:
        return identifier(line, value, "pair")
    if not isinstance(value, TYPES[key]) or (TYPES[key] is int and isinstance(value, bool)):
        raise line.wrong(f"{key} is {value!r}", f"it must be {TYPES[key].__name__}")
    return value


def _by_axiom(line: Line, values: dict[str, Any]) -> dict[str, Any]:
    """What a known axiom says of its pairs holds for a user's own, and may not be contradicted."""
    from whyrank.axioms.axiom import AXIOMS, parse_axiom

    if values.get("axiom") not in AXIOMS:
        return values
    try:
        axiom = parse_axiom(":".join(part for part in (values["axiom"], values.get("variant")) if part))
    except UserError:
        axiom = parse_axiom(values["axiom"])  # a variant of the user's own
    if values.get("prefer", axiom.prefers) != axiom.prefers:
        raise line.wrong(f"{axiom.name} prefers the {axiom.prefers}", "leave prefer out, or name no axiom")
    if values.get("aligned") and not axiom.aligned:
        raise line.wrong(f"pairs of {axiom} are not aligned by nature", "leave aligned out")
    return {"prefer": axiom.prefers, "aligned": axiom.aligned, **values}


def _slots(line: Line, row: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
    """Spans and contents, if they are given, each for both sides and inside the texts."""
    if row.get("slot") is None:
        return {}
    try:
        slot = {side: [(int(a), int(b)) for a, b in row["slot"][side]] for side in SIDES}
        contents = (
            {side: [str(one) for one in row["contents"][side]] for side in SIDES} if row.get("contents") else None
        )
    except (KeyError, TypeError, ValueError) as error:
        raise line.wrong(
            "slot is not two lists of spans", 'write {"baseline": [[0, 1]], "perturbed": [[0, 4]]}'
        ) from error
    counts = {len(slot[side]) for side in SIDES} | {len(one) for one in (contents or {}).values()}
    inside = all(
        0 <= a <= b <= len(values[side]) and a >= before
        for side in SIDES
        for (a, b), before in zip(slot[side], [0, *(end for _, end in slot[side])], strict=False)
    )
    if len(counts) > 1 or not inside:
        raise line.wrong(
            "the spans of slot do not fit the texts", "as many on both sides, in order, inside the text"
        )
    return {"slot": slot, "contents": contents}
