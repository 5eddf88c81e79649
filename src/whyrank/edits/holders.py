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

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np

from whyrank.edits.edit import Edit
from whyrank.edits.holder_moves import HolderMoves, QueryChange, Verdict
from whyrank.edits.unedited import Unedited
from whyrank.evaluation.estimate import Estimate
from whyrank.evaluation.interval import FEWEST_QUERIES
from whyrank.pages.numbers import counted
from whyrank.text.titles import title_of
from whyrank.text.words import words

#: A smaller change of a score is rounding.
ROUNDING = 1e-6
#: The document's title, score before, score after.
_Row = tuple[str, float, float]


def moves_of_edits(unedited: Unedited, scores: np.ndarray, edit: Edit, seed: int = 0) -> tuple[HolderMoves, ...]:
    """For each edited term how the documents that hold it moved, with all edits made. A term that is turned both
    up and down has no direction that was meant, and is passed over."""
    found = []
    for term in edit.terms:
        directions = {one.direction for one in edit if one.term == term}
        if len(directions) == 1:
            found.append(moves_of_holders(unedited, scores, holding(term), f'"{term}"', directions.pop(), seed))
    return tuple(found)


def moves_of_holders(
    unedited: Unedited, scores: np.ndarray, holds: Callable[[str], bool], what: str, direction: str, seed: int = 0
) -> HolderMoves:
    """How the documents whose text `holds` moved against the others, from the unedited scores to these."""
    found = _by_query(unedited, scores, holds, direction)
    values = [one.change.change for one in found]
    against_first = sorted((one.change for one in found), key=lambda one: _sign(direction) * one.change)
    moves = HolderMoves(
        what,
        direction,
        Estimate.mean(values, [one.change.qid for one in found], seed),
        rose=sum(value > ROUNDING for value in values),
        fell=sum(value < -ROUNDING for value in values),
        passed=sum(one.passed for one in found),
        was_passed=sum(one.was_passed for one in found),
        example=next((one.example for one in found if one.example), None),
        by_query=tuple(against_first),
        verdict="cannot tell",
    )
    judged = replace(moves, verdict=_verdict(moves))
    return replace(judged, sentence=_sentence(judged))


@dataclass(frozen=True)
class _InQuery:
    """What happened in one query."""

    change: QueryChange
    passed: int
    was_passed: int
    example: str | None

    @classmethod
    def of(cls, qid: str, query: str, holders: list[_Row], others: list[_Row], direction: str) -> _InQuery:
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
            example = f"'{first}' passed '{second}' for '{query}'"
        counts = QueryChange(qid, query, len(holders), len(others), change)
        return cls(counts, int(passed.sum()), int(was_passed.sum()), example)


def _by_query(
    unedited: Unedited, scores: np.ndarray, holds: Callable[[str], bool], direction: str
) -> list[_InQuery]:
    """The queries with candidates of both kinds."""
    held = {text: holds(text) for text in {text for _, text in unedited.pairs}}
    rows = zip(unedited.rows, unedited.pairs, unedited.scores.tolist(), scores.tolist(), strict=True)
    found: list[_InQuery] = []
    for qid, group in groupby(rows, key=lambda row: row[0].qid):
        split: dict[bool, list[_Row]] = {True: [], False: []}
        for _, (_, text), before, after in group:
            split[held[text]].append((title_of(text), before, after))
        if split[True] and split[False]:
            found.append(_InQuery.of(qid, unedited.queries[qid], split[True], split[False], direction))
    return found


def passes(
    unedited: Unedited, scores: np.ndarray, holds: Callable[[str], bool]
) -> Iterator[tuple[str, int, int, int]]:
    """For each query with candidates of both kinds: how often a holder passed another document, how often it was
    passed, and how many pairs of both there are."""
    for one in _by_query(unedited, scores, holds, "up"):
        yield one.change.qid, one.passed, one.was_passed, one.change.holders * one.change.others


def _sign(direction: str) -> int:
    return 1 if direction == "up" else -1


def _verdict(moves: HolderMoves) -> Verdict:
    """Whether the holders moved to where the edit should move them."""
    mean, sign = moves.change, _sign(moves.direction)
    if not mean.queries or mean.value is None:
        return "cannot tell"
    as_meant = moves.rose if sign > 0 else moves.fell
    against = sign * (moves.was_passed - moves.passed)
    if not (sign * mean.value > ROUNDING and 2 * as_meant > mean.queries and against <= 0):
        return "no"
    return "yes" if mean.has_sign(sign) else "unclear"


def _sentence(moves: HolderMoves) -> str:
    """One line: did they, in how many queries, by how much."""
    verb, past = ("rise", "rose") if moves.direction == "up" else ("fall", "fell")
    who = f"documents that hold {moves.what}"
    if moves.verdict == "cannot tell":
        return (
            f"cannot tell whether {who} {past} against the others: no query has documents of both "
            "kinds among its candidates"
        )
    result = {
        "yes": f"{who} {past} against the others",
        "unclear": f"{who} {past} against the others, but not clearly",
        "no": f"warning: {who} did not {verb} against the others",
    }[moves.verdict]
    return f"{result}: {_by_score(moves, past)}; {_by_rank(moves)}"


def _by_score(moves: HolderMoves, past: str) -> str:
    n, mean = moves.change.queries, moves.change
    count = moves.rose if moves.direction == "up" else moves.fell
    inside = f"mean change {mean.value:+.3g}"
    if n < FEWEST_QUERIES:
        inside += f"; {n} {'query is' if n == 1 else 'queries are'} too few for an interval"
    elif mean.interval:
        inside += f" [{mean.low:+.3g}, {mean.high:+.3g}]"
    return f"their scores {past} in {count} of {counted(n, 'query', 'queries')} ({inside})"


def _by_rank(moves: HolderMoves) -> str:
    example = f" ({moves.example})" if moves.example else ""
    there, back = _times(moves.passed), _times(moves.was_passed)
    return f"they passed another document {there} and were passed {back}{example}"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def holding(term: str) -> Callable[[str], bool]:
    """Whether a text holds the term: as whole words, one after another, whatever their case."""
    wanted = words(term)
    if " ".join(wanted) == _plain(term):
        n = len(wanted)

        def holds(text: str) -> bool:
            found = words(text)
            return any(found[i : i + n] == wanted for i in range(len(found) - n + 1))

        return holds
    pattern = re.compile(rf"(?<!\w){re.escape(_plain(term))}(?!\w)")  # `_plain` leaves single blanks only
    return lambda text: pattern.search(_plain(text)) is not None


def _plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).lower().replace("’", "'").split())
