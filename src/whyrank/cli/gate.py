"""`--fail-if` and `--junit`: exit code 3 where a condition fails, with one line why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from whyrank.cli.console import say

if TYPE_CHECKING:
    from whyrank.evaluation.estimate import Estimate
    from whyrank.evaluation.gate import Condition

#: The exit code of a gate that did not hold.
FAILED = 3
FailIf = Annotated[
    list[str], typer.Option("--fail-if", help="Exit with 3 if so: 'TFC1 < 0.9'; again for more conditions.")
]
JUnit = Annotated[Path | None, typer.Option("--junit", help="Write the conditions as JUnit XML.")]


def conditions_of(given: Sequence[str], junit: Path | None) -> list[Condition]:
    """The conditions, parsed before any work is done."""
    from whyrank.core.errors import UserError
    from whyrank.evaluation.gate import Condition

    if junit is not None and not given:
        raise UserError("--junit has no condition to write", todo="give --fail-if, too")
    return [Condition.parse(one) for one in given]


def close(
    conditions: Sequence[Condition], measured: Mapping[str, Mapping[str, Estimate]], junit: Path | None, suite: str
) -> None:
    """Says how each condition came out, writes the file, and ends with 3 where one fails."""
    from whyrank.evaluation.gate import check, write_junit

    checks = check(conditions, measured)
    if junit is not None:
        write_junit(junit, checks, suite)
    for one in checks:
        say(str(one))
    if any(one.fails for one in checks):
        raise typer.Exit(FAILED)
