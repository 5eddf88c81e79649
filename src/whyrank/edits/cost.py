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
from typing import Any

import numpy as np

from whyrank.collections.records import Retrieved, Run
from whyrank.edits.unedited import Unedited
from whyrank.evaluation.estimate import Estimate
from whyrank.evaluation.measures import per_query

DEPTH = 10
MEASURE = f"nDCG@{DEPTH}"
#: Queries shown, and documents of each.
SHOWN_QUERIES, SHOWN_DOCUMENTS = 20, 10


@dataclass(frozen=True, eq=False)
class Cost:
    """One edited ranking against the unedited one; nDCG is None for queries without judgements."""

    unedited: Unedited
    before: Run
    after: Run
    agreement: dict[str, float]
    ndcg_before: dict[str, float]
    ndcg_after: dict[str, float]

    @classmethod
    def of(cls, unedited: Unedited, scores: np.ndarray) -> Cost:
        before, after = unedited.run(unedited.scores), unedited.run(scores)
        agreements = {qid: agreement(_docnos(before[qid]), _docnos(after[qid])) for qid in before}
        return cls(unedited, before, after, agreements, _ndcg(unedited, before), _ndcg(unedited, after))

    def summary(self, seed: int = 0) -> dict[str, Any]:
        """Means with intervals over queries; the difference is paired."""
        judged = list(self.ndcg_before)
        columns = {
            "ndcg_before": [self.ndcg_before[qid] for qid in judged],
            "ndcg_after": [self.ndcg_after[qid] for qid in judged],
            "difference": [self.ndcg_after[qid] - self.ndcg_before[qid] for qid in judged],
        }
        told = {
            name: Estimate.mean(column, judged, seed, within=None if name == "difference" else (0, 1)).to_json()
            for name, column in columns.items()
        }
        agreements = Estimate.mean(list(self.agreement.values()), list(self.agreement), seed, within=(0, 1))
        return {
            "measure": MEASURE,
            "queries": len(self.agreement),
            "changed_queries": sum(_docnos(self.before[qid]) != _docnos(self.after[qid]) for qid in self.before),
            **(told if judged else dict.fromkeys(columns)),
            "agreement": agreements.to_json(),
        }

    def changes(self) -> list[dict[str, Any]]:
        """The queries that change most, each with the documents whose move is seen most."""
        told = [self._change(qid) for qid in self.before if _docnos(self.before[qid]) != _docnos(self.after[qid])]
        return sorted(told, key=lambda one: (one["agreement"], -one["moved"]))[:SHOWN_QUERIES]

    def _change(self, qid: str) -> dict[str, Any]:
        old = {row.docno: row for row in self.before[qid]}
        grades = self.unedited.qrels.get(qid, {})
        moved = [(old[row.docno], row) for row in self.after[qid] if row.rank != old[row.docno].rank]
        moved.sort(key=lambda pair: -abs(_seen(pair[0].rank) - _seen(pair[1].rank)))
        return {
            "qid": qid,
            "query": self.unedited.queries[qid],
            "agreement": self.agreement[qid],
            "ndcg_before": self.ndcg_before.get(qid),
            "ndcg_after": self.ndcg_after.get(qid),
            "moved": len(moved),
            "documents": [
                {
                    "docno": b.docno, "before": b.rank, "after": a.rank,
                    "score_before": b.score, "score_after": a.score, "grade": grades.get(b.docno),
                }
                for b, a in moved[:SHOWN_DOCUMENTS]
            ],
        }  # fmt: skip


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
