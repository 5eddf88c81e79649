"""A kind of input: how valid ones are made, what of them may be damaged, and which command reads them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Kind:
    """Inputs of one kind.

    `make` writes a valid one into an empty folder, in which `command` is run later on; `files` are patterns of
    what is damaged, one file at a time; `out` is where the command writes. `share`: how many inputs are of this
    kind, against the others. `done_line`: what the refusal of a valid input says, where the command is kept from
    its work. `also`: other inputs that a refusal may name, since the damaged file names them.
    `result`: a file that the command writes, which must be the same with a damaged input as with the valid one,
    since what is damaged is work that was kept: it is made again.
    """

    name: str
    make: Callable[[Path], None]
    files: Sequence[str]
    command: Sequence[str]
    share: int
    out: str = "out"
    done_line: str | None = None
    also: Sequence[str] = ()
    result: str | None = None

    def damageable(self, folder: Path) -> list[Path]:
        """What may be damaged in such a folder, in a fixed order."""
        found = sorted({path for pattern in self.files for path in folder.glob(pattern) if path.is_file()})
        assert found, f"{self.name}: no file of {self.files}"
        return found
