"""A paper's finding beside ours, and whether they agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from whyrank.evaluation.estimate import estimate_text
from whyrank.evaluation.interval import Interval
from whyrank.pages.page import Cell, Report

AGREES, DIFFERS, OPEN = "agrees", "differs", "–"


@dataclass(frozen=True)
class Beside:
    """One finding: what the paper says, what was measured here, on how much, and what to make of both."""

    what: str
    paper: str
    ours: str
    n: str
    verdict: str
    told: str = ""

    @property
    def judged(self) -> str:
        """The verdict, and why."""
        return f"{self.verdict}: {self.told}" if self.told else self.verdict

    @classmethod
    def number(cls, what: str, paper: float, ours: float | None, interval: Interval, n: str) -> Beside:
        """Numbers agree when the paper's lies in our interval; if not, ours is higher or lower."""
        if ours is None:
            return cls(what, f"{paper:.3f}", "not measured", n, OPEN)
        shown = estimate_text(ours, interval)
        if not interval:
            return cls(what, f"{paper:.3f}", shown, n, OPEN, "no interval")
        if interval.low <= paper <= interval.high:
            return cls(what, f"{paper:.3f}", shown, n, AGREES, "the paper's number is in our interval")
        return cls(what, f"{paper:.3f}", shown, n, DIFFERS, "ours is higher" if ours > paper else "ours is lower")

    @classmethod
    def heads(cls, what: str, paper: Sequence[str], ours: Sequence[str], n: str) -> Beside:
        """Sets of heads: all of the paper's found and none more agrees; the rest is told."""
        shared = [head for head in paper if head in set(ours)]
        more = [head for head in ours if head not in set(paper)]
        lacking = [head for head in paper if head not in set(ours)]
        told = f"{len(shared)} of the paper's {len(paper)} found"
        told += f"; not: {' '.join(lacking)}" if lacking else ""
        told += f"; more: {' '.join(more)}" if more else ""
        verdict = AGREES if not lacking and not more else DIFFERS
        return cls(what, " ".join(paper), " ".join(ours) or "none", n, verdict, told)

    @classmethod
    def holds(cls, what: str, paper: str, ours: str, n: str, holds: bool | None, told: str = "") -> Beside:
        """A statement that holds here, does not, or was not put to the test."""
        return cls(what, paper, ours, n, OPEN if holds is None else AGREES if holds else DIFFERS, told)


def beside_table(report: Report, rows: Sequence[Beside], caption: str) -> None:
    cells: list[list[Cell]] = [[one.what, one.paper, one.ours, one.judged, one.n] for one in rows]
    report.table(["finding", "the paper", "ours", "verdict", "n"], cells, caption)
