"""Minimal pairs: a query and two documents that differ in one feature; and the file they are kept in."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from whyrank.axioms.slots import (
    SIDES,
    check_contents,
    check_slot,
    slotted_as_given,
    slotted_with_fillers,
)
from whyrank.core.atomic import whole_file
from whyrank.core.errors import UserError
from whyrank.core.lines import read_json_lines
from whyrank.text.alignment import Slotted
from whyrank.text.tokens import Span


@dataclass(frozen=True)
class MinimalPair:
    """One line of a pairs file.

    `slot` has, for each text, the spans of characters where it may differ from the other; `contents` what stands
    there before fillers are added. A pair that has `contents` may be padded, fillers counted anew for each
    tokenizer; one without is a user's own, and its texts are read as they are. `slot`, `contents` and the texts
    must agree. `prefer` is the side that should score higher. `aligned` says whether the pair can be patched.
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

    def __post_init__(self) -> None:
        if self.slot is None:
            if self.contents is not None:
                raise UserError(f"pair {self.id!r} has contents and no slot", todo="give both, or neither")
            return
        found = check_slot({"baseline": self.baseline, "perturbed": self.perturbed}, self.slot)
        if self.contents is not None:
            check_contents(found, self.contents, query=self.query, filler=self.filler, padded=self.aligned)

    @property
    def slotted(self) -> Slotted:
        """The pair as shared segments and contents, as if no filler had been added."""
        if self.slot is None:
            return slotted_as_given(self.baseline, self.perturbed)
        found = Slotted.of_spans(self.baseline, self.perturbed, (self.slot["baseline"], self.slot["perturbed"]))
        if self.contents is None:
            return found
        return Slotted(found.segments, tuple(self.contents["baseline"]), tuple(self.contents["perturbed"]))

    def with_texts(self, shown: Slotted, plain: Slotted | None) -> MinimalPair:
        """The same with other texts, and as `contents` those of `plain` (None: the pair may not be padded)."""
        contents = (
            None if plain is None else {"baseline": list(plain.baseline), "perturbed": list(plain.perturbed)}
        )
        slot = {side: shown.spans(side) for side in SIDES}
        baseline, perturbed = (shown.text(side) for side in SIDES)
        return replace(self, baseline=baseline, perturbed=perturbed, slot=slot, contents=contents)

    def fillable(self) -> MinimalPair:
        """The pair with slots that fillers may be put into; the pair itself if it has them, or is not aligned."""
        if self.contents is not None or not self.aligned:
            return self
        if self.slot is None:
            slotted = slotted_with_fillers(self.baseline, self.perturbed, self.filler)
        else:
            slotted = self.slotted
        return self.with_texts(slotted, slotted)

    def to_json(self) -> str:
        return json.dumps(
            {key: value for key, value in asdict(self).items() if value is not None}, ensure_ascii=False
        )


def write_pairs(path: Path | str, pairs: Iterable[MinimalPair]) -> None:
    """JSON lines, whole or not at all; the same pairs give the same bytes."""
    with whole_file(Path(path)) as partial, partial.open("w", encoding="utf-8", newline="\n") as file:
        for pair in pairs:
            file.write(pair.to_json() + "\n")


def read_pairs(path: Path | str) -> list[MinimalPair]:
    """The pairs of a file, ours or a user's own; refused at the line where something is wrong."""
    from whyrank.axioms.pair_line import pair_of

    pairs: dict[str, MinimalPair] = {}
    for line, row in read_json_lines(path):
        pair = pair_of(line, row)
        if pair.id in pairs:
            raise line.wrong(f"pair {pair.id!r} appears twice", "give each pair its own id")
        pairs[pair.id] = pair
    if not pairs:
        raise UserError("an empty file: no pair in it", where=path)
    return list(pairs.values())


def line_of(path: Path | str, pair_id: str) -> int | None:
    """The line of a file on which a pair stands."""
    return next(
        (line.number for line, row in read_json_lines(path) if str(row.get("id", line.number)).strip() == pair_id),
        None,
    )
