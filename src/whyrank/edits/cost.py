"""What an edit costs: the ranking with it against the judgements, and against the ranking without.

Agreement is the nDCG@10 of the edited ranking in which the unedited one is the truth: the document at rank r of it
has the gain 11 - r, from 10 for the first to 1 for the tenth, and 0 below.

    agreement = sum over i = 1..10 of gain(d_i) / log2(i + 1), over the same sum for the unedited order

It is 1 when the first ten stay as they are, whatever happens below. (The paper says 'nDCG against the unedited
ranking' and not more; these gains are ours.)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from whyrank.collections.records import Retrieved, Run
from whyrank.core.progress import OpenProgress
from whyrank.edits.edit import Edit
from whyrank.edits.holder_moves import HolderMoves, RankingCost
from whyrank.edits.holders import moves_of_edits
from whyrank.edits.results import DocumentMove, QueryMoves, RankingChange
from whyrank.edits.rows import RowChange
from whyrank.edits.unedited import Unedited
from whyrank.evaluation.estimate import Estimate
from whyrank.evaluation.measures import per_query
from whyrank.text.titles import title_of

DEPTH = 10
MEASURE = f"nDCG@{DEPTH}"
#: Queries shown, and documents of each.
SHOWN_QUERIES, SHOWN_DOCUMENTS = 20, 10


@dataclass(frozen=True, eq=False)
class PreviewedRanking:
    """A ranking with an edit: whether the documents that hold the edited words moved as meant, what else moves and
    what that costs, and both rankings."""

    holders: tuple[HolderMoves, ...]
    ranking: RankingChange
    before: Run
    after: Run


def preview(
    unedited: Unedited,
    change: RowChange,
    edit: Edit | None = None,
    *,
    seed: int = 0,
    shards: Path | None = None,
    step: OpenProgress | None = None,
) -> PreviewedRanking:
    """Ranks with the change; `edit` is what it was meant to do."""
    scores, rescored = unedited.rescored(change, shards=shards, step=step)
    return previewed(unedited, scores, rescored, edit, seed)


def previewed(
    unedited: Unedited, scores: np.ndarray, rescored: int, edit: Edit | None = None, seed: int = 0
) -> PreviewedRanking:
    """The ranking by these scores, of which so many were scored again."""
    compared = Compared.of(unedited, scores)
    ranking = RankingChange(len(unedited.pairs), rescored, compared.cost(seed), compared.changes())
    holders = moves_of_edits(unedited, scores, edit or Edit(), seed)
    return PreviewedRanking(holders, ranking, compared.before, compared.after)


@dataclass(frozen=True, eq=False)
class Compared:
    """One edited ranking against the unedited one; nDCG by judged query."""

    unedited: Unedited
    before: Run
    after: Run
    agreement: dict[str, float]
    ndcg_before: dict[str, float]
    ndcg_after: dict[str, float]

    @classmethod
    def of(cls, unedited: Unedited, scores: np.ndarray) -> Compared:
        before, after = unedited.run(unedited.scores), unedited.run(scores)
        agreements = {qid: agreement(_docnos(before[qid]), _docnos(after[qid])) for qid in before}
        return cls(unedited, before, after, agreements, _ndcg(unedited, before), _ndcg(unedited, after))

    def cost(self, seed: int = 0) -> RankingCost:
        """Means with intervals over queries; the difference is paired."""
        after, differences = {qid: self.ndcg_after[qid] for qid in self.ndcg_before}, self.differences
        return RankingCost(
            MEASURE,
            queries=len(self.agreement),
            changed_queries=len(self._changed()),
            ndcg_before=_mean(self.ndcg_before, seed, within=(0, 1)),
            ndcg_after=_mean(after, seed, within=(0, 1)),
            difference=_mean(differences, seed),
            agreement=_mean(self.agreement, seed, within=(0, 1)) or Estimate.undefined(),
        )

    @property
    def differences(self) -> dict[str, float]:
        """The change of nDCG@10 of each judged query."""
        return {qid: self.ndcg_after[qid] - before for qid, before in self.ndcg_before.items()}

    def changes(self) -> tuple[QueryMoves, ...]:
        """The queries that change most, each with the documents whose move is seen most."""
        found = sorted(map(self._moves, self._changed()), key=lambda one: (one.agreement, -one.moved))
        return tuple(found[:SHOWN_QUERIES])

    @cached_property
    def _titles(self) -> dict[str, str]:
        """What documents are called."""
        rows = zip(self.unedited.rows, self.unedited.pairs, strict=True)
        return {row.docno: title_of(text) for row, (_, text) in rows}

    def _changed(self) -> list[str]:
        """The queries whose order changes."""
        return [qid for qid in self.before if _docnos(self.before[qid]) != _docnos(self.after[qid])]

    def _moves(self, qid: str) -> QueryMoves:
        old = {row.docno: row for row in self.before[qid]}
        grades = self.unedited.qrels.get(qid, {})
        moved = [(old[row.docno], row) for row in self.after[qid] if row.rank != old[row.docno].rank]
        moved.sort(key=lambda pair: -abs(_seen(pair[0].rank) - _seen(pair[1].rank)))
        documents = (
            DocumentMove(b.docno, self._titles[b.docno], b.rank, a.rank, b.score, a.score, grades.get(b.docno))
            for b, a in moved[:SHOWN_DOCUMENTS]
        )
        return QueryMoves(
            qid, self.unedited.queries[qid], self.agreement[qid], self.ndcg_before.get(qid),
            self.ndcg_after.get(qid), len(moved), tuple(documents),
        )  # fmt: skip


def _mean(values: dict[str, float], seed: int, *, within: tuple[float, float] | None = None) -> Estimate | None:
    """The mean over queries; None where there are none."""
    return Estimate.mean(list(values.values()), list(values), seed, within=within) if values else None


def agreement(before: Sequence[str], after: Sequence[str], depth: int = DEPTH) -> float:
    """nDCG of one order of documents with gains from another: depth for its first, 1 for its last that counts."""
    gains = {docno: float(depth - place) for place, docno in enumerate(before[:depth])}
    found, best = (
        math.fsum(gains.get(docno, 0.0) * _seen(place) for place, docno in enumerate(order[:depth], start=1))
        for order in (after, before)
    )
    return found / best if best else 1.0


def _seen(rank: int) -> float:
    """How much a rank counts: 1 / log2(rank + 1)."""
    return 1 / math.log2(rank + 1)


def _docnos(rows: Sequence[Retrieved]) -> list[str]:
    return [row.docno for row in rows]


def _ndcg(unedited: Unedited, run: Run) -> dict[str, float]:
    if not unedited.qrels:
        return {}
    return {row.qid: row.value for row in per_query(run, unedited.qrels, [MEASURE])}
