"""Did an edit do what was meant: documents that hold an edited word, against the documents that do not.

An edit turns the pieces of a word, and other words have these pieces, too: `waterproof` is 'water' and '##proof',
so turning it up may lift what is only water repellent. For each query whose candidates are of both kinds,

    change = mean over the holders of (score after - before)  -  the same mean over the others

and the pairs of a holder and another document that change places are counted. Turned up, holders rose when the
mean change over the queries is above 0, more than half of the queries have a change above 0, and the others did
not pass a holder more often than the reverse. They did so clearly when the interval of the mean change leaves out
0, for which six queries or more are needed. Turned down, all of this is reversed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, Literal

import numpy as np

from whyrank.edits.holding import holding
from whyrank.edits.term_edit import Edits
from whyrank.edits.unedited import Unedited
from whyrank.evaluation.estimate import Estimate
from whyrank.evaluation.interval import FEWEST_QUERIES

#: A smaller change of a score is rounding.
ROUNDING = 1e-6
#: Queries listed, those that go against the edit first.
LISTED = 20
#: Document, score before, score after.
_Row = tuple[str, float, float]
Verdict = Literal["yes", "unclear", "no", "cannot tell"]


@dataclass(frozen=True)
class QueryChange:
    """One query with candidates of both kinds: the change of the holders' mean score less that of the others'."""

    qid: str
    query: str
    holders: int
    others: int
    change: float


@dataclass(frozen=True)
class HolderMoves:
    """How the documents that hold a word moved against the others. `what`: the word, in words; `direction`: up or
    down, as the edit meant it. `passed`: pairs in which the holder was below and is above now; `was_passed`: the
    reverse; `example`: the first pair that changed places against the edit."""

    what: str
    direction: str
    mean: Estimate
    rose: int
    fell: int
    passed: int
    was_passed: int
    example: str | None
    queries: tuple[QueryChange, ...]

    @property
    def verdict(self) -> Verdict:
        """Whether the holders moved to where the edit should move them."""
        if not self.mean.queries:
            return "cannot tell"
        sign, as_meant, against = (1, self.rose, self.was_passed - self.passed)
        if self.direction == "down":
            sign, as_meant, against = (-1, self.fell, self.passed - self.was_passed)
        if not (
            self.mean.value is not None
            and sign * self.mean.value > ROUNDING
            and 2 * as_meant > self.mean.queries
            and against <= 0
        ):
            return "no"
        interval = self.mean.interval
        return "yes" if interval and interval.scaled(sign).low > 0 else "unclear"

    def __str__(self) -> str:
        """One line: did they, in how many queries, by how much."""
        verb, past = ("rise", "rose") if self.direction == "up" else ("fall", "fell")
        who = f"documents that hold {self.what}"
        if self.verdict == "cannot tell":
            return (
                f"cannot tell whether {who} {past} against the others: no query has documents of both "
                "kinds among its candidates"
            )
        said = {
            "yes": f"{who} {past} against the others",
            "unclear": f"{who} {past} against the others, but not clearly",
            "no": f"warning: {who} did not {verb} against the others",
        }[self.verdict]
        return f"{said}: {self._by_score(past)}; {self._by_rank()}"

    def _by_score(self, past: str) -> str:
        n = self.mean.queries
        count = self.rose if self.direction == "up" else self.fell
        inside = f"mean change {self.mean.value:+.3g}"
        if n < FEWEST_QUERIES:
            inside += f"; {n} {'query is' if n == 1 else 'queries are'} too few for an interval"
        elif self.mean.interval:
            inside += f" [{self.mean.low:+.3g}, {self.mean.high:+.3g}]"
        return f"their scores {past} in {count} of {n} {'query' if n == 1 else 'queries'} ({inside})"

    def _by_rank(self) -> str:
        example = f" ({self.example})" if self.example else ""
        there, back = _times(self.passed), _times(self.was_passed)
        return f"they passed another document {there} and were passed {back}{example}"

    def to_json(self) -> dict[str, Any]:
        sign = 1 if self.direction == "up" else -1
        listed = sorted(self.queries, key=lambda one: sign * one.change)[:LISTED]
        return {
            "what": self.what, "direction": self.direction, "verdict": self.verdict, "sentence": str(self),
            "queries": self.mean.queries, "rose": self.rose, "fell": self.fell,
            "change": self.mean.to_json(),
            "passed": self.passed, "was_passed": self.was_passed, "by_query": [vars(one) for one in listed],
        }  # fmt: skip


def moves_of_edits(unedited: Unedited, scores: np.ndarray, edits: Edits, seed: int = 0) -> list[HolderMoves]:
    """For each edited term how the documents that hold it moved, with all edits made. A term that is turned both
    up and down has no direction that was meant, and is passed over."""
    found = []
    for term in edits.terms:
        directions = {edit.direction for edit in edits if edit.term == term}
        if len(directions) == 1:
            found.append(moves_of_holders(unedited, scores, holding(term), f'"{term}"', directions.pop(), seed))
    return found


def moves_of_holders(
    unedited: Unedited, scores: np.ndarray, holds: Callable[[str], bool], what: str, direction: str, seed: int = 0
) -> HolderMoves:
    """How the documents whose text `holds` moved against the others, from the unedited scores to these."""
    held = {text: holds(text) for text in {text for _, text in unedited.pairs}}
    rows = zip(unedited.rows, unedited.pairs, unedited.scores.tolist(), scores.tolist(), strict=True)
    found: list[_InQuery] = []
    for qid, group in groupby(rows, key=lambda row: row[0].qid):
        split: dict[bool, list[_Row]] = {True: [], False: []}
        for row, (_, text), before, after in group:
            split[held[text]].append((row.docno, before, after))
        if split[True] and split[False]:
            told = QueryChange(qid, unedited.queries[qid], len(split[True]), len(split[False]), math.nan)
            found.append(_InQuery.of(told, split[True], split[False], direction))
    values = [one.told.change for one in found]
    return HolderMoves(
        what,
        direction,
        Estimate.mean(values, [one.told.qid for one in found], seed),
        rose=sum(value > ROUNDING for value in values),
        fell=sum(value < -ROUNDING for value in values),
        passed=sum(one.passed for one in found),
        was_passed=sum(one.was_passed for one in found),
        example=next((one.example for one in found if one.example), None),
        queries=tuple(one.told for one in found),
    )


@dataclass(frozen=True)
class _InQuery:
    """What happened in one query."""

    told: QueryChange
    passed: int
    was_passed: int
    example: str | None

    @classmethod
    def of(cls, told: QueryChange, holders: list[_Row], others: list[_Row], direction: str) -> _InQuery:
        """From the rows of the two kinds of documents."""
        (before, after), (others_before, others_after) = (
            np.array([row[1:] for row in rows]).T for rows in (holders, others)
        )
        change = float((after - before).mean() - (others_after - others_before).mean())
        # [holders, others]: how far the holder is above the other document
        lead_before, lead_after = before[:, None] - others_before, after[:, None] - others_after
        passed, was_passed = (lead_before < 0) & (lead_after > 0), (lead_before > 0) & (lead_after < 0)
        example = None
        if len(against := np.argwhere(was_passed if direction == "up" else passed)):
            names = holders[against[0][0]][0], others[against[0][1]][0]
            first, second = reversed(names) if direction == "up" else names
            example = f"{first} passed {second} for '{told.query}'"
        return cls(replace(told, change=change), int(passed.sum()), int(was_passed.sum()), example)


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
