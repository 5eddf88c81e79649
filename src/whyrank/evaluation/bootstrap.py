"""Intervals for means of rows that come in clusters: rows of one query are not independent of each other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np

DRAWS = 2000


class Interval(NamedTuple):
    """The middle `level` of the bootstrap's draws."""

    low: float
    high: float

    @property
    def leaves_out_zero(self) -> bool:
        """Whether what it is of is surely other than 0."""
        return bool(self.low > 0 or self.high < 0)


def clustered_means(
    values: np.ndarray, clusters: Sequence[str], *, draws: int = DRAWS, seed: int = 0
) -> np.ndarray:
    """Means of the columns of `values` [n, m] in `draws` samples of whole clusters, with replacement: [draws, m].

    A sample's mean is the sum of its rows over their number, never a mean of cluster means, so that large
    clusters count for what they are.
    """
    import numpy as np

    names, numbers = np.unique(np.asarray(clusters), return_inverse=True)
    sums = np.zeros((len(names), values.shape[1]))
    np.add.at(sums, numbers, values)
    sizes = np.bincount(numbers, minlength=len(names)).astype(float)
    weights = cluster_weights(len(names), draws, seed)
    return (weights @ sums) / (weights @ sizes)[:, None]


def cluster_weights(count: int, draws: int, seed: int) -> np.ndarray:
    """How often each cluster is drawn: [draws, clusters]."""
    import numpy as np

    return np.random.default_rng(seed).multinomial(count, np.full(count, 1 / count), size=draws)


def clustered_intervals(
    values: np.ndarray, clusters: Sequence[str], *, level: float = 0.95, draws: int = DRAWS, seed: int = 0
) -> list[Interval]:
    """The percentile interval of each column's mean; NaN where one cluster is all there is."""
    import numpy as np

    if len(set(clusters)) < 2:
        return [Interval(math.nan, math.nan)] * values.shape[1]
    means = clustered_means(values, clusters, draws=draws, seed=seed)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return [Interval(float(a), float(b)) for a, b in zip(low, high, strict=True)]


def cluster_sums(
    values: np.ndarray, clusters: np.ndarray, columns: np.ndarray, shape: tuple[int, int]
) -> np.ndarray:
    """Sums of `values` [n] by cluster and column, both told by number [n]: [clusters, columns]."""
    import numpy as np

    cells = np.bincount(clusters * shape[1] + columns, weights=values, minlength=shape[0] * shape[1])
    return cells.reshape(shape)


def middle(draws: np.ndarray, level: float = 0.95) -> Interval:
    """The middle of the finite draws [n]; NaN where there are fewer than two."""
    import numpy as np

    some = draws[np.isfinite(draws)]
    if len(some) < 2:
        return Interval(math.nan, math.nan)
    low, high = np.quantile(some, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high))
