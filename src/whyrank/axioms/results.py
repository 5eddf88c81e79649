"""What `pairs` returns: the pairs, and what was dropped; and the file that they are written to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self

from whyrank.axioms.pair import MinimalPair, read_pairs, write_pairs
from whyrank.core.atomic import check_writable, disk_errors, write_json
from whyrank.core.caller import SILENT, Caller
from whyrank.core.errors import UserError
from whyrank.core.json_file import read_json
from whyrank.core.lock import Lock
from whyrank.core.results import Result

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

SUFFIX = ".jsonl"
#: The pairs file in a folder.
PAIRS_FILE = f"pairs{SUFFIX}"


@dataclass(frozen=True)
class _Dropped:
    """The file beside a pairs file."""

    pairs: int
    split: str | None
    dropped: dict[str, dict[str, int]]


@dataclass(frozen=True, repr=False)
class MinimalPairs(Result):
    """Minimal pairs, and how many documents or pairs were dropped, by axiom and reason.

    They are kept as a pairs file (JSON lines, which users write, too), with what was dropped beside it.
    """

    FILE: ClassVar[str] = "pairs.json"
    COMMAND: ClassVar[str] = "pairs"

    pairs: tuple[MinimalPair, ...]
    dropped: dict[str, dict[str, int]] = field(default_factory=dict)
    split: str | None = None

    @classmethod
    def read(cls, folder: Path | str) -> Self:
        """The pairs of a pairs file, or of a folder with one; with what was dropped, where that is known."""
        path = _file_of(folder)
        beside = _dropped_file(path)
        known = read_json(beside, _Dropped) if beside.is_file() else _Dropped(0, None, {})
        return cls(tuple(read_pairs(path)), known.dropped, known.split)

    def save(self, folder: Path | str) -> list[Path]:
        """Writes a pairs file, or one in a folder, and what was dropped beside it."""
        out = _file_of(folder)
        with pairs_file(out, SILENT) as write:
            write(self)
        return [out, _dropped_file(out)]

    def to_pandas(self) -> pd.DataFrame:
        """One row per pair, without its slots."""
        import pandas as pd

        columns = [one.name for one in fields(MinimalPair) if one.name not in ("slot", "contents")]
        return pd.DataFrame([[getattr(pair, name) for name in columns] for pair in self.pairs], columns=columns)

    def plot(self, axes: Axes | None = None) -> Axes:
        """How many pairs each axiom has, one bar each."""
        from matplotlib.figure import Figure

        counts = self.counts()
        axes = axes if axes is not None else Figure(figsize=(6.4, 0.9 + 0.3 * len(counts))).subplots()
        axes.barh(range(len(counts)), list(counts.values()), height=0.66)
        axes.set_yticks(range(len(counts)), list(counts))
        axes.invert_yaxis()
        axes.set_xlabel("pairs")
        return axes

    def counts(self) -> dict[str, int]:
        """How many pairs there are by axiom."""
        return dict(Counter(":".join(filter(None, (pair.axiom, pair.variant))) or "own" for pair in self.pairs))

    def verdict(self) -> list[str]:
        """How many pairs of what, and why others were dropped."""
        queries = len({pair.qid if pair.qid is not None else pair.query for pair in self.pairs})
        pairs, axioms = len(self.pairs), list(self.counts())
        of = ", ".join(axioms) if len(axioms) < 4 else f"{len(axioms)} axioms and variants"
        made = f"{pairs} pair{'s' if pairs != 1 else ''} for {of or 'no axiom'}, of "
        said = [f"{made}{queries} {'queries' if queries != 1 else 'query'}."]
        return [*said, f"Dropped: {self.reasons()}."] if any(self.dropped.values()) else said

    def reasons(self) -> str:
        """The most frequent reasons why documents or pairs were dropped, with their counts."""
        counted = [(count, reason) for reasons in self.dropped.values() for reason, count in reasons.items()]
        return ", ".join(f"{reason} ({count})" for count, reason in sorted(counted, reverse=True)[:4])


@contextmanager
def pairs_file(out: Path | None, caller: Caller) -> Iterator[Callable[[MinimalPairs], None]]:
    """Holds the lock of a pairs file; yields the function that writes it, whole or not at all."""
    if out is None:
        yield lambda made: None
        return
    check_writable(out.parent)
    if out.is_dir():
        todo = "give a file, such as pairs.jsonl"
        raise UserError("a folder stands where the pairs file should be", where=out, todo=todo)
    lock = _locked(out, caller.asked)
    if out.exists():
        caller.say(f"{out} is there already and will be replaced")

    def write(made: MinimalPairs) -> None:
        dropped = _dropped_file(out)
        write_pairs(out, made.pairs)
        write_json(dropped, asdict(_Dropped(len(made.pairs), made.split, made.dropped)))
        caller.say(f"wrote {len(made.pairs)} pairs to {out}, and what was dropped and why to {dropped}")

    try:
        yield write
    finally:
        lock.release()


def _file_of(path: Path | str) -> Path:
    """A pairs file as it is; of a folder, the one in it."""
    path = Path(path)
    return path if path.suffix and not path.is_dir() else path / PAIRS_FILE


def _dropped_file(out: Path) -> Path:
    return out.with_name(f"{out.name.removesuffix(SUFFIX)}.dropped.json")


def _locked(out: Path, asked: str | None) -> Lock:
    """The lock of a pairs file, in a folder that is gone again if nothing is written to it."""
    new = not out.parent.exists()
    with disk_errors(out.parent):
        out.parent.mkdir(parents=True, exist_ok=True)
        lock = Lock(out.parent / f".{out.name}.lock", with_folder=new, asked=asked)
        return lock.acquire(todo="wait for it to end, or choose another file")
