"""A finding of a paper, what was measured here, and whether they agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from whyrank.evaluation.estimate import estimate_text
from whyrank.evaluation.interval import Interval
from whyrank.pages.numbers import counted
from whyrank.pages.page import Cell, Report

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

AGREES, DIFFERS, OPEN = "agrees", "differs", "–"


@dataclass(frozen=True)
class Finding:
    """What the paper says, what was measured here, on how much data, the verdict, and why."""

    what: str
    paper: str
    ours: str
    n: str
    verdict: str
    why: str = ""

    @property
    def judged(self) -> str:
        """The verdict, and why."""
        return f"{self.verdict}: {self.why}" if self.why else self.verdict

    @classmethod
    def number(cls, what: str, paper: float, ours: float | None, interval: Interval, n: str) -> Finding:
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
    def heads(cls, what: str, paper: Sequence[str], ours: Sequence[str], n: str) -> Finding:
        """Sets of heads: they agree when all of the paper's are found, and no others."""
        shared = [head for head in paper if head in set(ours)]
        more = [head for head in ours if head not in set(paper)]
        lacking = [head for head in paper if head not in set(ours)]
        why = f"{len(shared)} of the paper's {len(paper)} found"
        why += f"; not: {' '.join(lacking)}" if lacking else ""
        why += f"; more: {' '.join(more)}" if more else ""
        verdict = AGREES if not lacking and not more else DIFFERS
        return cls(what, " ".join(paper), " ".join(ours) or "none", n, verdict, why)

    @classmethod
    def holds(cls, what: str, paper: str, ours: str, n: str, holds: bool | None, why: str = "") -> Finding:
        """A statement that holds here, does not, or was not put to the test."""
        return cls(what, paper, ours, n, OPEN if holds is None else AGREES if holds else DIFFERS, why)


def findings_table(report: Report, rows: Sequence[Finding], caption: str) -> None:
    """The table of a study: paper, here, verdict."""
    cells: list[list[Cell]] = [[one.what, one.paper, one.ours, one.judged, one.n] for one in rows]
    report.table(["finding", "the paper", "ours", "verdict", "n"], cells, caption)


def count_sentence(rows: Sequence[Finding]) -> str:
    """How many findings agree, differ, or are open: the first sentence of a study's verdict."""
    count = Counter(row.verdict for row in rows)
    return (
        f"Of {counted(len(rows), 'finding')} of the paper, {counted(count[AGREES], 'agrees', 'agree')} here, "
        f"{counted(count[DIFFERS], 'differs', 'differ')}, and {count[OPEN]} cannot be judged."
    )


def findings_frame(rows: Sequence[Finding]) -> pd.DataFrame:
    """One row per finding."""
    import pandas as pd

    return pd.DataFrame([vars(row) for row in rows])


def plot_verdicts(rows: Sequence[Finding], axes: Axes | None = None) -> Axes:
    """How many findings agree, differ, or cannot be judged: one bar each."""
    from whyrank.plots.style import new_axes

    axes = axes if axes is not None else new_axes(4.8, 1.6)
    count = Counter(row.verdict for row in rows)
    labels = {AGREES: "agree", DIFFERS: "differ", OPEN: "cannot be judged"}
    bars = axes.barh(list(labels.values()), [count[name] for name in labels])
    axes.bar_label(bars)
    axes.invert_yaxis()
    axes.set_xlabel("findings of the paper")
    return axes
