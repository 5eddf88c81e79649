"""`whyrank eval --calibrate`: what a score means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from whyrank.cli.caller import terminal
from whyrank.cli.console import command, console, print_json, say, suggest

if TYPE_CHECKING:
    from whyrank.explain.calibration import Calibration

WantPrecision = Annotated[
    float | None,
    typer.Option("--want-precision", help="With --calibrate: find the lowest score that reaches it: 0.9."),
]
MinGrade = Annotated[
    int | None, typer.Option("--min-grade", min=1, help="With --calibrate: the lowest relevant grade (1).")
]
AssumeNotRelevant = Annotated[
    bool, typer.Option("--assume-not-relevant", help="With --calibrate: unjudged documents are not relevant.")
]


@dataclass(frozen=True)
class Asked:
    """The options of --calibrate."""

    want_precision: float | None
    min_grade: int | None
    assume_not_relevant: bool

    def check_not_given(self) -> None:
        """Raises for an option that means nothing without --calibrate."""
        from whyrank.core.errors import UserError

        given = {
            "--want-precision": self.want_precision is not None,
            "--min-grade": self.min_grade is not None,
            "--assume-not-relevant": self.assume_not_relevant,
        }
        for name in [name for name, is_given in given.items() if is_given]:
            raise UserError(f"{name} is an option of --calibrate", todo="add --calibrate")


def calibrate_one(
    runs: Sequence[Path],
    qrels: str,
    asked: Asked,
    measures: Sequence[str] | None,
    per_query: bool,
    seed: int,
    out: Path | None,
    json: bool,
) -> None:
    """Calibrates the only run, and prints."""
    from whyrank.core.errors import UserError

    if len(runs) > 1:
        raise UserError(f"--calibrate takes one run, not {len(runs)}", todo="calibrate each by itself")
    if measures or per_query:
        raise UserError("--calibrate measures nothing", todo="leave out --measure and --per-query")
    say(f"calibrating {runs[0]} by {qrels}")
    from whyrank.explain.calibrate import calibrate

    result = calibrate(
        runs[0], qrels, want_precision=asked.want_precision, min_grade=asked.min_grade or 1,
        assume_not_relevant=asked.assume_not_relevant, seed=seed, out=out, caller=terminal(),
    )  # fmt: skip
    print_json(result) if json else show(result)
    if out is None:
        suggest(command("eval", *runs, "--qrels", qrels, "--calibrate", "-o", "runs/calibration"))
    else:
        suggest(f"open {out / 'report.html'} in a browser")


def show(found: Calibration) -> None:
    """The verdict, and what scores mean."""
    from rich.table import Table

    from whyrank.explain.calibration_report import meanings

    screen = console()
    for sentence in found.verdict():
        screen.print(sentence)
    table = Table()
    for column in ("score", "probability", "expected grade"):
        table.add_column(column, justify="right")
    for row in meanings(found):
        table.add_row(*map(str, row))
    screen.print(table)
