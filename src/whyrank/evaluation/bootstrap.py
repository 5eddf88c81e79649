"""The clustered bootstrap: whole queries are drawn with replacement, and the statistic is taken anew.

Every statistic with an interval is a function of how often each query counts: a mean is sum(w_q sum_q) over
sum(w_q n_q), and so are ratios of sums, correlations, fits. `resample` evaluates it with all queries, in each
draw, and with each query dropped; `Resampled.intervals` makes intervals of that.

More than 15 queries: the middle 95% of the draws. From 6 to 15 that is too narrow (coverage .84 at 6 queries), so
the interval reaches as far as the farther of

    value +- t s              s the jackknife's standard error, t Student's with G - 1 degrees of freedom
    value + c (end - value)   the ends of the middle 95%, c = t / z sqrt(G / (G - 1))

for correlations on Fisher's scale, atanh r. Simulated coverage, 6 to 15 queries: .90 to .98
(tests/evaluation/test_coverage.py). Below 6 there is no interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from whyrank.evaluation.interval import (
    FEWEST_QUERIES,
    LEVEL,
    NO_SPREAD,
    NOT_DEFINED,
    SMALL_SAMPLE,
    TOO_FEW,
    Interval,
)

if TYPE_CHECKING:
    import numpy as np

DRAWS = 2000
ENDS = ((1 - LEVEL) / 2, (1 + LEVEL) / 2)
#: The normal's 97.5% point.
Z = 1.959963984540054
#: Values that differ by less than this part of their size are equal but for rounding.
ROUNDING = 1e-12
#: The largest |r| of which Fisher's transform is taken.
SURE = 1 - 1e-15

#: How often each cluster counts, [rows, clusters] -> the statistics, [rows, m].
Statistic = Callable[["np.ndarray"], "np.ndarray"]


@dataclass(frozen=True, eq=False)
class Resampled:
    """Statistics of clusters: over all of them [m], in each draw of as many [draws, m] and with each of them left
    out [clusters, m]; and on how many clusters each statistic rests [m]."""

    value: np.ndarray
    drawn: np.ndarray
    left_out: np.ndarray
    clusters: np.ndarray

    def map(self, change: Statistic) -> Resampled:
        """A function of the statistics, row by row: [rows, m] -> [rows, k]."""
        import numpy as np

        fewest = int(self.clusters.min()) if len(self.clusters) else 0

        def changed(rows: np.ndarray) -> np.ndarray:
            return change(rows) if len(rows) else np.empty((0, len(value)))

        with np.errstate(divide="ignore", invalid="ignore"):
            value = change(self.value[None])[0]
            return Resampled(value, changed(self.drawn), changed(self.left_out), np.full(len(value), fewest))

    def columns(self, some: np.ndarray) -> Resampled:
        """Some of the statistics, by number or by mask."""
        return Resampled(self.value[some], self.drawn[:, some], self.left_out[:, some], self.clusters[some])

    def intervals(self, *, correlation: bool = False) -> list[Interval]:
        """One interval for each statistic, which always holds it."""
        import numpy as np

        low, high = _percentiles(self.drawn)
        varies = _varies(self.drawn)
        small = (self.clusters <= SMALL_SAMPLE) & (self.clusters >= FEWEST_QUERIES)
        if small.any() and len(self.drawn):
            with np.errstate(invalid="ignore"):
                low[small], high[small] = _small_sample(self.columns(small), correlation)
        found = []
        for i, value in enumerate(self.value):
            if not np.isfinite(value):
                found.append(Interval.none(NOT_DEFINED))
            elif self.clusters[i] < FEWEST_QUERIES:
                found.append(Interval.none(TOO_FEW))
            elif not varies[i]:
                found.append(Interval.none(NO_SPREAD))
            elif not (np.isfinite(low[i]) and np.isfinite(high[i])):
                found.append(Interval.none(NOT_DEFINED))
            else:
                found.append(Interval(float(low[i]), float(high[i])).around(float(value)))
        return found

    def interval(self, *, correlation: bool = False) -> Interval:
        """That of the only statistic."""
        (found,) = self.intervals(correlation=correlation)
        return found


def resample(
    statistic: Statistic,
    clusters: int,
    *,
    present: np.ndarray | None = None,
    draws: int = DRAWS,
    seed: int = 0,
) -> Resampled:
    """The statistic of this many clusters, drawn again and again.

    `present` says on how many of the clusters each statistic rests [m]; unless given, on all.
    """
    import numpy as np

    with np.errstate(divide="ignore", invalid="ignore"):
        value = statistic(np.ones((1, clusters)))[0]
        rests_on = np.full(len(value), clusters) if present is None else np.asarray(present)
        drawn = left_out = np.empty((0, len(value)))
        if clusters >= FEWEST_QUERIES and len(value):
            drawn = statistic(cluster_weights(clusters, draws, seed).astype(float))
            if (rests_on <= SMALL_SAMPLE).any():
                left_out = statistic(np.ones((clusters, clusters)) - np.eye(clusters))
    return Resampled(value, drawn, left_out, rests_on)


def cluster_weights(count: int, draws: int, seed: int) -> np.ndarray:
    """How often each cluster is drawn: [draws, clusters]."""
    import numpy as np

    return np.random.default_rng(seed).multinomial(count, np.full(count, 1 / count), size=draws)


def cluster_sums(
    values: np.ndarray, clusters: np.ndarray, columns: np.ndarray, shape: tuple[int, int]
) -> np.ndarray:
    """Sums of `values` [n] by cluster and column, both given by number [n]: [clusters, columns]."""
    import numpy as np

    cells = np.bincount(clusters * shape[1] + columns, weights=values, minlength=shape[0] * shape[1])
    return cells.reshape(shape)


def resampled_ratio(above: np.ndarray, below: np.ndarray, *, draws: int = DRAWS, seed: int = 0) -> Resampled:
    """Ratios of sums, from what each cluster adds above and below the line: [clusters, m] each."""
    return resample(lambda weights: (weights @ above) / (weights @ below), len(above), draws=draws, seed=seed)


def clustered_intervals(
    values: np.ndarray,
    clusters: Sequence[str],
    *,
    shares: Collection[int] = (),
    draws: int = DRAWS,
    seed: int = 0,
) -> list[Interval]:
    """The interval of the mean of each column of `values` [n, m]; of the columns that are `shares` (0 or 1 in each
    row) one that has width at 0% and 100%, too.

    A draw's mean is the sum of its rows over their number, never a mean of cluster means, so that large clusters
    count for what they are.
    """
    import numpy as np

    from whyrank.evaluation.wilson import share_interval

    names, numbers = np.unique(np.asarray(clusters), return_inverse=True)
    sums = np.zeros((len(names), values.shape[1]))
    np.add.at(sums, numbers, values)
    sizes = np.bincount(numbers, minlength=len(names)).astype(float)
    found = resampled_ratio(sums, sizes[:, None], draws=draws, seed=seed).intervals()
    return [share_interval(sums[:, i], sizes, one) if i in shares else one for i, one in enumerate(found)]


def _percentiles(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The middle of the finite rows of each column; NaN where there are fewer than two."""
    import numpy as np

    if not len(rows):
        return np.full(rows.shape[1], math.nan), np.full(rows.shape[1], math.nan)
    if np.isfinite(rows).all():
        low, high = np.quantile(rows, ENDS, axis=0)
        return low, high
    known = [column[np.isfinite(column)] for column in rows.T]
    ends = [np.quantile(some, ENDS) if len(some) > 1 else (math.nan, math.nan) for some in known]
    return np.array([low for low, _ in ends]), np.array([high for _, high in ends])


def _varies(rows: np.ndarray) -> np.ndarray:
    """Which columns are not the same in every row."""
    import numpy as np

    known = np.isfinite(rows)
    most = np.where(known, rows, -math.inf).max(axis=0, initial=-math.inf)
    least = np.where(known, rows, math.inf).min(axis=0, initial=math.inf)
    with np.errstate(invalid="ignore"):
        return most - least > ROUNDING * np.maximum(np.abs(most), np.abs(least))


def stretch(clusters: np.ndarray) -> np.ndarray:
    """How much too near the draws of so few clusters are: t / z sqrt(G / (G - 1)); 1 above 15."""
    import numpy as np
    from scipy.special import stdtrit

    few = np.clip(clusters, 2, SMALL_SAMPLE).astype(float)
    return np.where(clusters > SMALL_SAMPLE, 1.0, stdtrit(few - 1, ENDS[1]) / Z * np.sqrt(few / (few - 1)))


def _small_sample(one: Resampled, correlation: bool) -> tuple[np.ndarray, np.ndarray]:
    """The ends for 6 to 15 clusters."""
    import numpy as np
    from scipy.special import stdtrit

    def there(values: np.ndarray) -> np.ndarray:
        return np.arctanh(np.clip(values, -SURE, SURE)) if correlation else values

    value, drawn, left_out, count = there(one.value), there(one.drawn), there(one.left_out), one.clusters
    t, farther = stdtrit(count - 1, ENDS[1]), stretch(count)
    error = np.sqrt((count - 1) / count * ((left_out - value) ** 2).sum(axis=0))  # NaN if it hinges on one cluster
    low, high = _percentiles(drawn)
    low = np.minimum(value - t * error, value - farther * np.maximum(value - low, 0.0))
    high = np.maximum(value + t * error, value + farther * np.maximum(high - value, 0.0))
    return (np.tanh(low), np.tanh(high)) if correlation else (low, high)
