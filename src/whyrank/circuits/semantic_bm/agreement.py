"""How well predictions agree with the cross-encoder on the test part: Pearson, Spearman by query, nDCG@10."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from whyrank.collections.records import Qrels
from whyrank.evaluation.bootstrap import clustered_intervals
from whyrank.evaluation.correlation import ClusteredMoments
from whyrank.evaluation.interval import NOT_DEFINED, Interval
from whyrank.evaluation.measures import per_query
from whyrank.interventions.statistics import finite

MEASURE = "nDCG@10"
#: A rank correlation of fewer documents says nothing.
LEAST_RANKED = 3


@dataclass(frozen=True, eq=False)
class HeldOut:
    """The pairs of the test part, with the cross-encoder's `scores` of them; `qrels` of the collection."""

    qids: np.ndarray
    docnos: np.ndarray
    scores: np.ndarray
    qrels: Qrels
    seed: int = 0

    def pearson(self, predictions: Mapping[str, np.ndarray], model: str) -> dict[str, dict[str, Any]]:
        """r with the scores, pooled, of each prediction, and by how much it is less than that of `model`.

        Intervals redraw whole queries, the same ones for all predictions, so that differences are paired.
        """
        moments = ClusteredMoments(len(predictions))
        stacked = np.stack(list(predictions.values()))
        scores, stacked = self.scores - self.scores[0], stacked - stacked[:, :1]  # so a constant is exactly 0
        for qid in dict.fromkeys(self.qids.tolist()):
            mine = self.qids == qid
            moments.add(qid, scores[mine], stacked[:, mine])
        own = list(predictions).index(model)
        found, again = moments.correlations(seed=self.seed), moments.resampled(seed=self.seed)
        less = again.map(lambda rows: rows[:, [own]] - rows)
        gaps = less.intervals()
        return {
            name: {
                "r": finite(one.r), **one.interval.to_json(), "n": one.n, "queries": one.clusters,
                "less": None if i == own else {"by": finite(float(less.value[i])), **gaps[i].to_json()},
            }
            for i, (name, one) in enumerate(zip(predictions, found, strict=True))
        }  # fmt: skip

    def spearman(self, predictions: np.ndarray) -> dict[str, Any]:
        """The mean over queries of the rank correlation within the query."""
        values = {
            qid: rank_correlation(predictions[self.qids == qid], self.scores[self.qids == qid])
            for qid in dict.fromkeys(self.qids.tolist())
        }
        return self._over_queries({qid: value for qid, value in values.items() if np.isfinite(value)})

    def ndcg(self, predictions: np.ndarray) -> dict[str, Any] | None:
        """Against the judgements, over the judged queries of the test part; None where there is none."""
        run: dict[str, dict[str, float]] = {}
        for qid, docno, value in zip(self.qids.tolist(), self.docnos.tolist(), predictions.tolist(), strict=True):
            run.setdefault(qid, {})[docno] = value
        judged = {qid: self.qrels[qid] for qid in run if qid in self.qrels}
        if not judged:
            return None
        rows = per_query({qid: run[qid] for qid in judged}, judged, [MEASURE])
        return self._over_queries({row.qid: row.value for row in rows})

    def _over_queries(self, values: Mapping[str, float]) -> dict[str, Any]:
        column = np.array(list(values.values()), dtype=float)
        if not len(column):
            nothing = Interval.none(NOT_DEFINED).to_json()
            return {"mean": None, **nothing, "median": None, "sd": None, "queries": 0}
        (interval,) = clustered_intervals(column[:, None], list(values), seed=self.seed)
        return {
            "mean": float(column.mean()), **interval.to_json(),
            **spread(column), "queries": len(column),
        }  # fmt: skip


def rank_correlation(a: np.ndarray, b: np.ndarray) -> float:
    """Spearman's rho, ties sharing their mean rank; NaN where it is not defined or of too few values."""
    from scipy.stats import rankdata

    return correlation(rankdata(a), rankdata(b)) if len(a) >= LEAST_RANKED else np.nan


def correlation(a: np.ndarray, b: np.ndarray) -> float:
    """Pearson's r; NaN where one side is constant."""
    if len(a) < 2 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return np.nan
    return float(np.corrcoef(a, b)[0, 1])


def spread(values: Sequence[float] | np.ndarray) -> dict[str, float | None]:
    """The median, and the deviation of a sample."""
    column = np.asarray(values, dtype=float)
    return {
        "median": float(np.median(column)) if len(column) else None,
        "sd": float(column.std(ddof=1)) if len(column) > 1 else None,
    }
