"""Cliff's delta: how often the values of one group are above those of another, less how often below (Cliff 1993).

    delta = P(first > second) - P(first < second) = 2 U / (n m) - 1, with U Mann and Whitney's

Pairs of one query count together. In a draw of queries with weights w the comparisons of the first group in query
i with the second in query j count w_i w_j times, so a draw costs one product with the table of their sums.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from whyrank.evaluation.bootstrap import resample
from whyrank.evaluation.interval import FEWEST_QUERIES, TOO_FEW, Interval
from whyrank.evaluation.wilson import wilson

if TYPE_CHECKING:
    import numpy as np


def cliffs_delta(first: Sequence[float], second: Sequence[float]) -> float:
    """From -1 (all of the first are below all of the second) to 1."""
    from scipy.stats import rankdata

    n, m = len(first), len(second)
    u = float(rankdata([*first, *second])[:n].sum()) - n * (n + 1) / 2
    return 2 * u / (n * m) - 1


def delta_interval(
    values: Sequence[float], in_first: Sequence[bool], queries: Sequence[str], seed: int = 0
) -> Interval:
    """The interval of delta, of values [n] that are in the first group or else in the second.

    It rests on the queries that hold the first group, or the second, whichever are fewer: 5 pairs of one query
    say no more than that query, whatever they are compared with. At -1 and 1, where nothing varies, it is that of
    a share of 0% or 100% of these queries.
    """
    import numpy as np

    column, first = np.asarray(values, dtype=float), np.asarray(in_first, dtype=bool)
    _, number = np.unique(np.asarray(queries), return_inverse=True)
    count = int(number.max()) + 1
    sizes = [np.bincount(number[some], minlength=count).astype(float) for some in (first, ~first)]
    rests_on = min(int((one > 0).sum()) for one in sizes)
    if rests_on < FEWEST_QUERIES:
        return Interval.none(TOO_FEW)
    table = _comparisons(column, first, number, count)
    delta = float(table.sum() / (sizes[0].sum() * sizes[1].sum()))
    if abs(delta) == 1.0:
        share = wilson((1 + delta) / 2 * rests_on, rests_on)
        return Interval(2 * share.low - 1, 2 * share.high - 1)

    def statistic(weights: np.ndarray) -> np.ndarray:
        above = ((weights @ table) * weights).sum(axis=1)
        return (above / ((weights @ sizes[0]) * (weights @ sizes[1])))[:, None]

    return resample(statistic, count, present=np.array([rests_on]), seed=seed).interval(correlation=True)


def _comparisons(values: np.ndarray, first: np.ndarray, number: np.ndarray, count: int) -> np.ndarray:
    """Sums of the signs of first - second by the queries of both: [queries, queries]."""
    import numpy as np

    table = np.zeros((count, count))
    others, theirs = values[~first], number[~first]
    for query in np.unique(number[first]):
        mine = values[first & (number == query)]
        signs = np.sign(mine[:, None] - others[None]).sum(axis=0)
        table[query] = np.bincount(theirs, weights=signs, minlength=count)
    return table
