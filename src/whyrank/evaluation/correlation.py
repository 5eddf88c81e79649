"""Pearson's r of observations that come in clusters (the tokens of one query), for many series at once.

Only sums are kept: n, x, y, x^2, y^2, xy by cluster. An interval redraws whole clusters.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from whyrank.evaluation.bootstrap import DRAWS, SURE, Resampled, Z, resample
from whyrank.evaluation.interval import FEWEST_QUERIES, NOT_DEFINED, Interval

if TYPE_CHECKING:
    import numpy as np

#: A variance below this part of the mean square is rounding.
ROUNDING = 1e-12
#: Of so few independent observations there is no interval.
TOO_FEW_WORDS = "too few words"


class Pearson(NamedTuple):
    """r, its 95% interval, and from how many observations of how many clusters; NaN where it is not defined."""

    r: float
    interval: Interval
    n: int
    clusters: int


class ClusteredMoments:
    """The sums that r needs, of one x against `series` different y."""

    def __init__(self, series: int) -> None:
        self.series = series
        self._sums: dict[str, np.ndarray] = {}

    def add(self, cluster: str, x: np.ndarray, y: np.ndarray) -> None:
        """Observations x [n] and y [series, n]; pairs in which x is NaN are dropped."""
        import numpy as np

        known = np.isfinite(x)
        x, y = np.asarray(x, dtype=float)[known], np.asarray(y, dtype=float)[:, known]
        ones = np.ones(self.series)
        sums = np.stack(
            [len(x) * ones, x.sum() * ones, y.sum(1), (x**2).sum() * ones, (y**2).sum(1), y @ x]
        )  # [6, series]
        self._sums[cluster] = self._sums.get(cluster, 0) + sums

    def __bool__(self) -> bool:
        """Whether anything was added."""
        return bool(self._sums)

    @property
    def observations(self) -> int:
        """How many were added, in all clusters."""
        return int(sum(sums[0, 0] for sums in self._sums.values()))

    def correlations(self, *, draws: int = DRAWS, seed: int = 0) -> list[Pearson]:
        """r of each series, with its interval."""
        if not self._sums:
            return [Pearson(math.nan, Interval.none(NOT_DEFINED), 0, 0)] * self.series
        found, counts = self.resampled(draws=draws, seed=seed), self._stacked()[:, 0].sum(0)
        return [
            Pearson(float(found.value[i]), interval, int(counts[i]), int(found.clusters[i]))
            for i, interval in enumerate(found.intervals(correlation=True))
        ]

    def resampled(self, *, draws: int = DRAWS, seed: int = 0) -> Resampled:
        """r of each series over all clusters and in each draw of them; series of one seed share their draws."""
        import numpy as np

        sums = self._stacked() if self._sums else np.zeros((0, 6, self.series))

        def statistic(weights: np.ndarray) -> np.ndarray:
            return _pearson(np.tensordot(weights, sums, axes=1).swapaxes(0, 1))

        return resample(statistic, len(sums), present=(sums[:, 0] > 0).sum(axis=0), draws=draws, seed=seed)

    def left_out(self) -> Resampled:
        """r of each series over all clusters and with each of them left out, however many there are; no draws."""
        import numpy as np

        sums = self._stacked() if self._sums else np.zeros((0, 6, self.series))
        every, count = sums.sum(axis=0), np.full(self.series, len(sums))
        with np.errstate(divide="ignore", invalid="ignore"):
            without = _pearson((every - sums).swapaxes(0, 1)) if len(sums) else np.empty((0, self.series))
            return Resampled(_pearson(every), np.empty((0, self.series)), without, count)

    def _stacked(self) -> np.ndarray:
        """[clusters, 6, series]"""
        import numpy as np

        return np.stack(list(self._sums.values()))


def _pearson(sums: np.ndarray) -> np.ndarray:
    """From [6, ...]: n, x, y, x^2, y^2, xy."""
    import numpy as np

    n, x, y, xx, yy, xy = sums
    with np.errstate(divide="ignore", invalid="ignore"):
        over, under_x, under_y = n * xy - x * y, n * xx - x**2, n * yy - y**2
        spread = (under_x > ROUNDING * n * xx) & (under_y > ROUNDING * n * yy)  # else a constant, but for rounding
        under = np.sqrt(np.where(spread, under_x * under_y, math.nan))
        return over / under


def is_constant(values: np.ndarray) -> bool:
    """Whether all are the same, but for rounding: then nothing correlates with them."""
    import numpy as np

    return bool(np.std(values) <= ROUNDING * np.max(np.abs(values), initial=0.0))


def independent_pearson(x: np.ndarray, y: np.ndarray) -> Pearson:
    """r of independent observations (words of a vocabulary), with Fisher's interval.

        tanh(atanh r +- z / sqrt(n - 3))

    Pairs of which one is NaN are dropped.
    """
    import numpy as np

    both = np.isfinite(x) & np.isfinite(y)
    n = int(both.sum())
    if n < 3 or is_constant(x[both]) or is_constant(y[both]):
        return Pearson(math.nan, Interval.none(NOT_DEFINED), n, n)
    r = float(np.corrcoef(x[both], y[both])[0, 1])
    if n < FEWEST_QUERIES:
        return Pearson(r, Interval.none(TOO_FEW_WORDS), n, n)
    return Pearson(r, _fisher(r, Z / math.sqrt(n - 3)), n, n)


def _fisher(r: float, width: float) -> Interval:
    middle = fisher_scale(r)
    return Interval(math.tanh(middle - width), math.tanh(middle + width)).around(r)


def fisher_scale(r: float) -> float:
    """atanh r, finite for 1 and -1."""
    return math.atanh(max(-SURE, min(SURE, r)))
