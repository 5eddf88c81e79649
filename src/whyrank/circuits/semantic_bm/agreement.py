"""How well predictions agree with the cross-encoder on the test part: Pearson, Spearman by query, nDCG@10."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from whyrank.circuits.semantic_bm.results import OverQueries
from whyrank.collections.records import Qrels
from whyrank.evaluation.correlation import ClusteredMoments
from whyrank.evaluation.estimate import Estimate
from whyrank.evaluation.measures import per_query

MEASURE = "nDCG@10"
#: A correlation of fewer documents says nothing.
LEAST_RANKED = 3


@dataclass(frozen=True, eq=False)
class HeldOut:
    """The pairs of the test part, with the cross-encoder's `scores` of them; `qrels` of the collection."""

    qids: np.ndarray
    docnos: np.ndarray
    scores: np.ndarray
    qrels: Qrels
    seed: int = 0

    def pearson(
        self, predictions: Mapping[str, np.ndarray], model: str
    ) -> dict[str, tuple[Estimate, Estimate | None]]:
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
        return {
            name: (
                Estimate.of(*r),
                None if i == own else Estimate.of(float(less.value[i]), interval, r.n, r.clusters),
            )
            for i, (name, r, interval) in enumerate(zip(predictions, found, less.intervals(), strict=True))
        }

    def spearman(self, predictions: np.ndarray) -> OverQueries:
        """The rank correlation within each query."""
        return self._by_query(predictions, rank_correlation)

    def _by_query(
        self, predictions: np.ndarray, measure: Callable[[np.ndarray, np.ndarray], float]
    ) -> OverQueries:
        """Over the queries that have documents enough."""
        values = {}
        for qid in dict.fromkeys(self.qids.tolist()):
            mine = self.qids == qid
            if mine.sum() >= LEAST_RANKED:
                values[qid] = measure(predictions[mine], self.scores[mine])
        return self._over_queries({qid: value for qid, value in values.items() if np.isfinite(value)})

    def within(self, predictions: np.ndarray) -> OverQueries:
        """Pearson's r within each query."""
        return self._by_query(predictions, correlation)

    def ndcg(self, predictions: np.ndarray) -> OverQueries | None:
        """Against the judgements, over the judged queries of the test part; None where there is none."""
        run: dict[str, dict[str, float]] = {}
        for qid, docno, value in zip(self.qids.tolist(), self.docnos.tolist(), predictions.tolist(), strict=True):
            run.setdefault(qid, {})[docno] = value
        judged = {qid: self.qrels[qid] for qid in run if qid in self.qrels}
        if not judged:
            return None
        rows = per_query({qid: run[qid] for qid in judged}, judged, [MEASURE])
        return self._over_queries({row.qid: row.value for row in rows})

    def _over_queries(self, values: Mapping[str, float]) -> OverQueries:
        column = list(values.values())
        return OverQueries(Estimate.mean(column, list(values), self.seed), median(column), deviation(column))


def rank_correlation(a: np.ndarray, b: np.ndarray) -> float:
    """Spearman's rho, ties sharing their mean rank; NaN where it is not defined or of too few values."""
    from scipy.stats import rankdata

    return correlation(rankdata(a), rankdata(b)) if len(a) >= LEAST_RANKED else np.nan


def correlation(a: np.ndarray, b: np.ndarray) -> float:
    """Pearson's r; NaN where one side is constant."""
    if len(a) < 2 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return np.nan
    return float(np.corrcoef(a, b)[0, 1])


def median(values: Sequence[float]) -> float | None:
    return float(np.median(values)) if len(values) else None


def deviation(values: Sequence[float]) -> float | None:
    """Of a sample."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else None
