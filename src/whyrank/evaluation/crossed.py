"""The mean of values that vary over queries and over something else that was drawn: random directions.

Each row is a pair of some query, each column a direction, [n, R]. Redrawing queries alone would pretend that other
directions give the same mean. So the interval over queries (the clustered bootstrap of the rows' means) is widened
by how much the mean over directions varies, each end by the root of both parts' squares:

    t_(R-1) s / sqrt(R)         s: the standard deviation of the R columns' means

Both parts hold the variance of query x direction, so the interval is a little too wide, never too narrow by design
(its coverage is simulated in tests/evaluation/test_crossed.py).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from whyrank.evaluation.bootstrap import ENDS
from whyrank.evaluation.estimate import Estimate
from whyrank.evaluation.interval import Interval

if TYPE_CHECKING:
    import numpy as np

TOO_FEW_DRAWN = "too few directions"


def crossed_mean(values: np.ndarray, queries: Sequence[str], seed: int = 0) -> Estimate:
    """The mean over rows and columns [n, R]; `queries` names each row's."""
    over_queries = Estimate.mean(values.mean(axis=1), queries, seed)
    if over_queries.value is None or not over_queries.interval:
        return over_queries
    if values.shape[1] < 2:
        no_interval = Interval.none(TOO_FEW_DRAWN)
        return Estimate.of(over_queries.value, no_interval, over_queries.pairs, over_queries.queries)
    return widened(over_queries, _half_width(values.mean(axis=0)))


def widened(one: Estimate, by: float) -> Estimate:
    """An estimate whose interval reaches farther to each side: by the root of both parts' squares."""
    if one.value is None or one.low is None or one.high is None:
        return one
    low, high = one.value - math.hypot(one.value - one.low, by), one.value + math.hypot(one.high - one.value, by)
    return Estimate.of(one.value, Interval(low, high), one.pairs, one.queries)


def _half_width(means: np.ndarray) -> float:
    """Of the 95% interval of the mean of these."""
    from scipy.special import stdtrit

    count = len(means)
    return float(stdtrit(count - 1, ENDS[1]) * means.std(ddof=1) / math.sqrt(count))
