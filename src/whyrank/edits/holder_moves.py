"""How the documents that hold an edited word moved, and what an edit costs: the types."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from whyrank.evaluation.estimate import Estimate
from whyrank.pages.numbers import counted

#: Whether the documents that hold a word moved to where the edit should move them.
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
    """How the documents that hold a word moved against the others.

    `what`: the word, quoted; `direction`: up or down, as the edit meant it; `change`: the mean over queries;
    `rose` and `fell`: queries. `passed`: pairs in which the holder was below and is above now; `was_passed`: the
    reverse; `example`: the first pair that changed places against the edit. Queries that go against it come first.
    """

    what: str
    direction: str
    change: Estimate
    rose: int
    fell: int
    passed: int
    was_passed: int
    example: str | None
    by_query: tuple[QueryChange, ...]
    verdict: Verdict
    #: One line: did they, in how many queries, by how much.
    sentence: str = ""

    def __str__(self) -> str:
        return self.sentence


@dataclass(frozen=True)
class RankingCost:
    """What an edit costs: means over queries, the difference paired; nDCG is None without judgements."""

    measure: str
    queries: int
    changed_queries: int
    ndcg_before: Estimate | None
    ndcg_after: Estimate | None
    difference: Estimate | None
    agreement: Estimate

    @property
    def judged(self) -> int:
        """Queries with judgements."""
        return self.ndcg_after.queries if self.ndcg_after else 0

    def __str__(self) -> str:
        if self.difference is None:
            effect = f"the agreement with the unedited order is {self.agreement.text('.4f')}"
        else:
            effect = f"{self.measure} changes by {self.difference.text('+.4f')}"
        queries = counted(self.queries, "query", "queries")
        return f"The order changes in {self.changed_queries} of {queries}; {effect}."
