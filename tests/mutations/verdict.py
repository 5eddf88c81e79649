"""What became of a damaged input: accepted, refused, or a failure of ours."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Literal, NamedTuple

from tests.mutations.in_process import Ended
from whyrank.core.errors import UserError
from whyrank.core.json_file import read_json

Kind = Literal["accepted", "refused", "traceback", "bad refusal", "bad output"]
FAILURES: tuple[Kind, ...] = ("traceback", "bad refusal", "bad output")
#: Letters of the longest refusal: a line, not a page.
LONGEST = 2000
#: What libraries write when something went wrong in them.
NOISE = re.compile(r"Traceback|\bpanicked\b|\w*Warning:|Exception ignored")


class Verdict(NamedTuple):
    """What became of it, and why it counts as that."""

    kind: Kind
    why: str


def judge(ended: Ended, written: Path, names: Iterable[str], done_line: str | None = None) -> Verdict:
    """Exit 0 with valid files in `written`, or exit 2 with one line that names one of `names`.

    `done_line` stands in the refusal of an input that is read rightly, where the command is kept from its work.
    """
    if ended.traceback or ended.code not in (0, 2):
        return Verdict("traceback", shortened(ended.traceback or ended.stderr))
    if noise := NOISE.search(ended.stderr):
        return Verdict("traceback", f"{noise.group()} on the screen: {ended.stderr[-1500:]}")
    if ended.code == 0:
        wrong = wrong_output(written)
        return Verdict("bad output", wrong) if wrong else Verdict("accepted", "")
    complaints = [line for line in ended.stderr.splitlines() if line.startswith("whyrank: ")]
    if len(complaints) != 1 or ended.stderr.rstrip().splitlines()[-1] != complaints[0]:
        return Verdict("bad refusal", f"not one line at the end: {ended.stderr[-1000:]}")
    (complaint,) = complaints
    if done_line and done_line in complaint:
        return Verdict("accepted", "")
    if len(complaint) > LONGEST:
        return Verdict("bad refusal", f"{len(complaint)} characters: {complaint[:300]}")
    if not any(name in complaint for name in names):
        return Verdict("bad refusal", f"names no file: {complaint}")
    return Verdict("refused", complaint)


def shortened(traceback: str) -> str:
    """The frames that are ours, from the last on, and the error."""
    lines = [line.strip() for line in traceback.strip().splitlines()]
    frames = [line for line in lines if line.startswith("File ") and "/src/whyrank/" in line]
    ours = [line.split("/src/whyrank/", 1)[-1] for line in frames]
    error = next((line for line in reversed(lines) if line), "")
    return f"{error[:300]} <- {' <- '.join(reversed(ours[-4:]))}"


def scores(run: Path) -> list[float]:
    """The scores of a TREC run."""
    return [float(line.split()[4]) for line in run.read_text(encoding="utf-8").splitlines()]


def wrong_output(folder: Path) -> str:
    """What is wrong with the JSON files and runs that a command wrote, or nothing."""
    for path in sorted(folder.rglob("*")) if folder.is_dir() else ():
        if path.suffix == ".json" and path.is_file():
            try:
                read_json(path)
            except UserError as error:
                return str(error)
        if path.suffix == ".trec" and any(not math.isfinite(score) for score in scores(path)):
            return f"{path}: a score that is not finite"
    return ""
