"""A gate for CI: conditions under which a command fails, checked against what it measured.

    --fail-if 'TFC1 < 0.9'   --fail-if 'nDCG@10 < -0.01'

The value decides, not its interval; the sentence says both, and that there are too few queries where there are.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from whyrank.core.atomic import write_text
from whyrank.core.errors import UserError, nearest, quoted
from whyrank.evaluation.estimate import Estimate

_CONDITION = re.compile(r"\s*(\S.*?)\s*(<=|>=|<|>)\s*([-+]?[0-9.]+(?:e[-+]?[0-9]+)?)(%?)\s*", re.IGNORECASE)
_COMPARISONS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


class GateFailed(UserError):
    """A gate that does not hold: the command prints its line and exits with 3. `result` is what was measured."""

    def __init__(
        self, what: str, *, where: str | Path | None = None, todo: str | None = None, result: Any = None
    ) -> None:
        super().__init__(what, where=where, todo=todo)
        self.result = result


@dataclass(frozen=True)
class Condition:
    """A number that may not be on this side of a limit: `TFC1 < 0.9` prints as it parses."""

    name: str
    comparison: str
    limit: float

    @classmethod
    def parse(cls, text: str) -> Condition:
        match = _CONDITION.fullmatch(text)
        try:
            limit = float(match[3]) / (100 if match[4] else 1) if match else None
        except ValueError:
            limit = None
        if match is None or limit is None:
            raise UserError(f"{quoted(text)} is not a condition", todo="write it like 'TFC1 < 0.9'")
        return cls(match[1], match[2], limit)

    def __str__(self) -> str:
        return f"{self.name} {self.comparison} {self.limit:g}"

    def holds_for(self, value: float) -> bool:
        return bool(_COMPARISONS[self.comparison](value, self.limit))


@dataclass(frozen=True)
class Check:
    """A condition, the number that it is about, what that is called, and whether the gate fails by it."""

    condition: Condition
    measured: str
    estimate: Estimate

    @property
    def fails(self) -> bool:
        """A number that is not defined fails: nobody can say that it is fine."""
        value = self.estimate.value
        return value is None or self.condition.holds_for(value)

    def __str__(self) -> str:
        word = "fails" if self.fails else "holds"
        return f"gate {word}: {self.measured} is {self.estimate.text()}, fail if {self.condition}"


def check(conditions: Sequence[Condition], measured: Mapping[str, Mapping[str, Estimate]]) -> list[Check]:
    """One check for each condition and each number of its name; `measured` has the numbers of each name by what
    they are called."""
    found = []
    for condition in conditions:
        numbers = measured.get(condition.name)
        if not numbers:
            raise UserError(f"there is no value {quoted(condition.name)}", todo=nearest(condition.name, measured))
        found += [Check(condition, called, estimate) for called, estimate in numbers.items()]
    return found


def write_junit(path: Path, checks: Sequence[Check], suite: str) -> None:
    """The checks as JUnit XML, one test case each, as CI servers read it."""
    failures = sum(one.fails for one in checks)
    root = ElementTree.Element("testsuite", name=suite, tests=str(len(checks)), failures=str(failures))
    for one in checks:
        case = ElementTree.SubElement(root, "testcase", classname=suite, name=f"{one.measured}: {one.condition}")
        if one.fails:
            ElementTree.SubElement(case, "failure", message=str(one))
    ElementTree.indent(root)
    write_text(path, ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n")
