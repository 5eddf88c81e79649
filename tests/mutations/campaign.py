"""A number of damaged inputs over all kinds, from a seed: made, run, judged, counted."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from tests.mutations.in_process import run
from tests.mutations.kind import Kind
from tests.mutations.texts import mutated_file
from tests.mutations.verdict import FAILURES, Verdict, judge

#: The columns and the last row of `table`.
COLUMNS, ALL = ("inputs", "refused", "accepted", "failures"), "all"


@dataclass(frozen=True)
class Tried:
    """One damaged input: its kind, its number, the file, what was done to it, what became of it."""

    kind: str
    number: int
    file: str
    damage: str
    verdict: Verdict

    @property
    def failed(self) -> bool:
        return self.verdict.kind in FAILURES

    def __str__(self) -> str:
        damage = f"{self.kind} {self.number} ({self.file}: {self.damage[:100]})"
        return f"{damage}: {self.verdict.kind}: {self.verdict.why}"


class Campaign:
    """Valid inputs of some kinds, made once in a folder; any of them can be damaged by number."""

    def __init__(self, folder: Path, kinds: Sequence[Kind], seed: int = 0) -> None:
        self.folder, self.kinds, self.seed = folder, {kind.name: kind for kind in kinds}, seed
        self._results: dict[str, bytes] = {}

    def valid(self, kind: Kind) -> Path:
        """The folder with the valid input."""
        made = self.folder / "valid" / kind.name.replace(" ", "-")
        if not made.exists():
            made.mkdir(parents=True)
            kind.make(made)
        return made

    def undamaged(self, kind: Kind) -> Verdict:
        """What becomes of the valid input: it must be accepted."""
        verdict = self._judged(kind, here := self._copied(kind))
        if kind.result:
            self._results[kind.name] = (here / kind.result).read_bytes()
        return verdict

    def tried(self, kind: Kind, number: int) -> Tried:
        """The input of this number: the same seed, kind and number give the same damage."""
        if kind.result and kind.name not in self._results:
            self.undamaged(kind)
        random = Random(f"{self.seed} {kind.name} {number}")
        here = self._copied(kind)
        path = random.choice(kind.damageable(here))
        name, content = mutated_file(path.name, path.read_bytes(), random)
        path.write_bytes(content)
        file = path.relative_to(here).as_posix()
        return Tried(kind.name, number, file, name, self._compared(kind, here, self._judged(kind, here, path)))

    def all(self, count: int) -> Iterator[Tried]:
        """So many inputs, shared among the kinds."""
        for kind in self.kinds.values():
            for number in range(self.count(kind, count)):
                yield self.tried(kind, number)

    def count(self, kind: Kind, count: int) -> int:
        """How many of `count` inputs are of a kind; each has its share, rounded up."""
        whole = sum(one.share for one in self.kinds.values())
        return -(-count * kind.share // whole)

    def _compared(self, kind: Kind, here: Path, verdict: Verdict) -> Verdict:
        """The verdict, but for a result that the damage has changed."""
        if kind.result is None or verdict.kind != "accepted":
            return verdict
        same = (here / kind.result).read_bytes() == self._results[kind.name]
        return verdict if same else Verdict("bad output", f"another {kind.result} than without the damage")

    def _copied(self, kind: Kind) -> Path:
        here = self.folder / "here"
        shutil.rmtree(here, ignore_errors=True)
        return shutil.copytree(self.valid(kind), here)

    def _judged(self, kind: Kind, here: Path, damaged: Path | None = None) -> Verdict:
        given = [
            word.removeprefix("semantic-bm:") for word in kind.command if (here / word.split(":")[-1]).exists()
        ]
        names = [*given, *kind.also, *([damaged.name] if damaged else [])]
        ended = run(list(kind.command), here)
        return judge(ended, here / kind.out, names, kind.done_line)


def table(tried: Sequence[Tried]) -> str:
    """One row per kind, and one for all: inputs, refused, accepted, failures."""
    counts: dict[str, Counter[str]] = {}
    for one in tried:
        outcome = "failures" if one.failed else one.verdict.kind
        for row in (one.kind, ALL):
            counts.setdefault(row, Counter()).update(("inputs", outcome))
    rows = [*(row for row in counts if row != ALL), *([ALL] if tried else [])]
    lines = [f"{'kind':26}" + "".join(f"{name:>10}" for name in COLUMNS)]
    lines += [f"{row:26}" + "".join(f"{counts[row][name]:10}" for name in COLUMNS) for row in rows]
    return "\n".join(lines)
