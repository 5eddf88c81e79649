"""Are the scores of different queries on one scale? The AUC over all pairs against the mean of the queries' own.

    AUC = P(score of a relevant document > score of one that is not) + P(equal) / 2

Within a query this is what a ranking is for. Over all queries it is what one cut-off for all of them needs; where
it is lower, a score means different things in different queries.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from whyrank.evaluation.bootstrap import resample
from whyrank.evaluation.calibration import Judged
from whyrank.evaluation.estimate import Estimate, finite

if TYPE_CHECKING:
    import numpy as np


#: Draws of the bootstrap, each a pass over all pairs.
DRAWS = 500


@dataclass(frozen=True)
class Separation:
    """The AUC over the pairs of all queries, the mean of the queries' own (of those with relevant documents and
    others), and how much the former is lower."""

    pooled: float | None
    within: float | None
    lost: Estimate


def separation(pairs: Judged, seed: int) -> Separation:
    import numpy as np

    _, queries = np.unique(pairs.queries, return_inverse=True)
    count = int(queries.max()) + 1
    own = np.array([auc(pairs.scores[queries == one], pairs.relevant[queries == one]) for one in range(count)])
    known, pooled = np.isfinite(own), _PooledAuc(pairs, queries)

    def statistics(weights: np.ndarray) -> np.ndarray:
        within = weights[:, known] @ own[known] / weights[:, known].sum(axis=1)
        over_all = np.array([pooled.of(row) for row in weights])
        return np.stack([over_all, within, within - over_all], axis=1)

    found = resample(statistics, count, present=np.full(3, known.sum()), draws=DRAWS, seed=seed)
    over_all, within, lost = found.value.tolist()
    estimate = Estimate.of(lost, found.intervals()[2], len(pairs.scores), int(known.sum()))
    return Separation(finite(over_all), finite(within), estimate)


def auc(scores: np.ndarray, relevant: np.ndarray) -> float:
    """That of some pairs; NaN where all or none are relevant."""
    import numpy as np

    pairs = Judged(scores, relevant, relevant, np.zeros(len(scores), dtype=int))
    return _PooledAuc(pairs, pairs.queries).of(np.ones(1))


class _PooledAuc:
    """The AUC over all pairs, of queries that count as often as their weights say: one pass over sorted scores."""

    def __init__(self, pairs: Judged, queries: np.ndarray) -> None:
        import numpy as np

        relevant = pairs.relevant > 0
        others = np.sort(pairs.scores[~relevant])
        self.others = queries[~relevant][np.argsort(pairs.scores[~relevant], kind="stable")]
        self.relevant = queries[relevant]
        #: How many others are below each relevant document, and how many are not above it.
        self.below = np.searchsorted(others, pairs.scores[relevant], side="left")
        self.not_above = np.searchsorted(others, pairs.scores[relevant], side="right")

    def of(self, weights: np.ndarray) -> float:
        import numpy as np

        others, relevant = np.append(0, np.cumsum(weights[self.others])), weights[self.relevant]
        pairs = float(relevant.sum() * others[-1])
        wins = float(relevant @ (others[self.below] + others[self.not_above])) / 2
        return wins / pairs if pairs else math.nan
