"""Minimal pairs: a query and two documents that differ in one feature; and the file they are kept in."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

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
        slot = self.slot or word_differences(self.baseline, self.perturbed)
        found = Slotted.of_spans(self.baseline, self.perturbed, (slot["baseline"], slot["perturbed"]))
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


def _chunks(text: str) -> list[Span]:
    """White space and what is not, by turns, so that the chunks together are the text."""
    import re

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


def _pair(line: Line, row: dict[str, Any]) -> MinimalPair:
    missing = [key for key in NEEDED if not isinstance(row.get(key), str | int) or not str(row[key]).strip()]
    if missing:
        raise line.wrong(f"no {', '.join(missing)}", f"a pair has {', '.join(NEEDED)}, as text")
    if row["baseline"] == row["perturbed"]:
        raise line.wrong("baseline and perturbed are the same", "they must differ in one thing")
    if row.get("prefer", "perturbed") not in SIDES:
        raise line.wrong(f"prefer is {row['prefer']!r}", "it must be baseline or perturbed")
    known = {field.name for field in fields(MinimalPair)}
    values = {key: value for key, value in row.items() if key in known}
    for key in ("id", "qid", "docid"):
        if values.get(key) is not None:
            values[key] = str(values[key])
    if values.get("slot"):
        values["slot"] = {side: [tuple(span) for span in values["slot"][side]] for side in SIDES}
    return MinimalPair(**values)


def grouped(pairs: Iterable[MinimalPair]) -> Iterator[tuple[str, list[MinimalPair]]]:
    """Pairs by axiom and variant, in the order in which they first come."""
    groups: dict[str, list[MinimalPair]] = {}
    for pair in pairs:
        groups.setdefault(label(pair), []).append(pair)
    return iter(groups.items())


def label(pair: MinimalPair) -> str:
    """What to call a pair's kind: `TFC1:append`, or `own` for pairs that name no axiom."""
    return ":".join(part for part in (pair.axiom or "own", pair.variant) if part)
