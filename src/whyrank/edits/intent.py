"""What a preview says besides what moves: who else rises, which scale held-out queries propose, new tokens, the
gate."""

from __future__ import annotations

from dataclasses import dataclass

from whyrank.edits.holder_moves import HolderMoves, RankingCost
from whyrank.evaluation.estimate import Estimate
from whyrank.evaluation.gate import GateFailed
from whyrank.pages.numbers import counted

#: The most of nDCG@10 that a proposed scale may lose where max_loss is not given.
MOST_LOSS = 0.005


@dataclass(frozen=True)
class SharerMove:
    """One document that has a piece of an edited word, but not the word: by which words, and how it moved."""

    query: str
    docno: str
    title: str
    snippet: str
    words: tuple[str, ...]
    before: int
    after: int
    score_before: float
    score_after: float


@dataclass(frozen=True)
class SharerMoves:
    """The documents that share a piece of an edited word, and do not hold it.

    `change`: of each query the change of their mean score less that of the documents without any of the pieces;
    `rose`, `fell`: pairs of a query and such a document that changed their rank; `examples`: those that moved most
    to the side to which the edit turns the word.
    """

    term: str
    direction: str
    pieces: tuple[str, ...]
    pairs: int
    change: Estimate
    rose: int
    fell: int
    examples: tuple[SharerMove, ...]

    def __str__(self) -> str:
        """One line."""
        pieces = " and ".join(f"'{one}'" for one in self.pieces)
        who = f'documents without "{self.term}" that share its {pieces}'
        if not self.pairs:
            return f'no candidate shares a piece of "{self.term}" ({pieces}) without holding it'
        if self.change.value is None:
            moved = "no query has others beside them"
        else:
            moved = f"mean change {self.change.text('+.3g')} against documents without the pieces"
        return f"{who}: {self.rose} rose and {self.fell} fell in {counted(self.pairs, 'ranking')} ({moved})"


@dataclass(frozen=True)
class TriedScale:
    """One scale on the queries that choose: `gain` is the share of pairs of a holder and another document that
    change places as meant, less those that do the reverse, mean over queries; `loss`: of nDCG@10, if judged."""

    scale: float
    gain: Estimate
    loss: float | None
    allowed: bool


@dataclass(frozen=True)
class Proposal:
    """A scale that one half of the queries chose, and what it does on the other half.

    Chosen is the scale with the largest gain whose loss is at most `max_loss`, the smallest of several; None where
    no scale gains. `holders` and `cost` are of the other half alone.
    """

    rule: str
    tried: tuple[TriedScale, ...]
    chosen: float | None
    max_loss: float
    chosen_on: int
    tested_on: int
    holders: tuple[HolderMoves, ...] = ()
    cost: RankingCost | None = None

    def __str__(self) -> str:
        on = counted(self.chosen_on, "query", "queries")
        if self.chosen is None:
            return (
                f"No scale is proposed: on the {on} that choose, none moves the documents that hold the words as "
                f"meant at a loss of at most {self.max_loss:g} nDCG@10."
            )
        said = [one.sentence for one in self.holders] + ([str(self.cost)[:-1]] if self.cost else [])
        return (
            f"Proposed: {self.chosen:g}{self.rule}, chosen on {on}. On the other {self.tested_on}: "
            f"{'; '.join(said)}."
        )


@dataclass(frozen=True)
class NewToken:
    """A word that got a token of its own: the pieces it was, U_0 of its row, and the row."""

    term: str
    token: int
    pieces: tuple[str, ...]
    u0: float
    row: tuple[float, ...]


@dataclass(frozen=True)
class NewTokens:
    """Words with tokens of their own, and what that alone does, before any edit.

    `row`: how the rows were made (mean or fitted). `shift`: the mean size of the change of a score, over the
    `pairs` that hold such a word; `signed`: the mean change; `largest`; `in_sd`: `shift` in standard deviations of
    the scores within queries; `fitted_on`: pairs that the rows were fitted on, which are not among `pairs`.
    """

    row: str
    tokens: tuple[NewToken, ...]
    pairs: int
    shift: Estimate
    signed: Estimate
    largest: float
    in_sd: float | None
    agreement: Estimate
    fitted_on: int = 0

    def __str__(self) -> str:
        words = ", ".join(f"'{one.term}' ({' '.join(one.pieces)})" for one in self.tokens)
        are = "is one token" if len(self.tokens) == 1 else "are one token each"
        if not self.pairs:
            return f"{words} {are} now; no candidate holds it, so how far that alone moves scores is not known."
        sd = "" if self.in_sd is None else f", {self.in_sd:.2g} standard deviations"
        return (
            f"{words} {are} now. That alone, before the edit, moves scores of {counted(self.pairs, 'pair')} that "
            f"hold it by {self.shift.text('.3g')} in the mean{sd} (at most {self.largest:.3g}); the agreement "
            f"with the unedited order is {self.agreement.text('.4f')}."
        )


def check_loss(cost: RankingCost | None, max_loss: float, result: object) -> None:
    """Raises when an edit loses more nDCG@10 on the judged queries than is allowed: its value decides."""
    difference = cost.difference if cost else None
    if difference is None or difference.value is None:
        raise GateFailed(
            "gate fails: no ranked query is judged, so nobody knows what the edit loses; nothing is saved",
            result=result,
        )
    if difference.value < -max_loss:
        raise GateFailed(
            f"gate fails: nDCG@10 changes by {difference.text('+.4f')} on {difference.queries} judged queries, "
            f"and max_loss is {max_loss:g}; nothing is saved",
            result=result,
        )
