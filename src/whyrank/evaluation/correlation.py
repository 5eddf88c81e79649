"""Pearson's r of observations that come in clusters (the tokens of one query), for many series at once.

Only sums are kept: n, x, y, x^2, y^2, xy by cluster. An interval redraws whole clusters.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from whyrank.evaluation.bootstrap import DRAWS, Interval, cluster_weights

if TYPE_CHECKING:
    import numpy as np

LEVEL = (0.025, 0.975)
#: A variance below this part of the mean square is rounding.
ROUNDING = 1e-12
#: z of a 95% interval.
NORMAL = 1.959963984540054
#: The largest r of which Fisher's transform is taken.
SURE = 1 - 1e-15


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
        """Observations x [n] and y [series, n]; pairs in which x is NaN are left out."""
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

    def correlations(self, *, draws: int = DRAWS, seed: int = 0) -> list[Pearson]:
        """r of each series, with its interval."""
        import numpy as np

        if not self._sums:
            return [Pearson(math.nan, Interval(math.nan, math.nan), 0, 0)] * self.series
        sums = self._stacked()
        whole, clusters = _pearson(sums.sum(0)), len(sums)
        found = np.full((2, self.series), math.nan)
        if clusters > 1:
            drawn = self.drawn(draws=draws, seed=seed)
            defined = np.isfinite(drawn).any(axis=0)
            found[:, defined] = np.nanquantile(drawn[:, defined], LEVEL, axis=0)
        counts = sums[:, 0].sum(0)
        return [
            Pearson(float(whole[i]), Interval(float(found[0, i]), float(found[1, i])), int(counts[i]), clusters)
            for i in range(self.series)
        ]

    def drawn(self, *, draws: int = DRAWS, seed: int = 0) -> np.ndarray:
        """r of each series in each draw of clusters: [draws, series]; series of one seed share their draws."""
        import numpy as np

        sums = self._stacked()
        weights = cluster_weights(len(sums), draws, seed).astype(float)
        return _pearson(np.tensordot(weights, sums, axes=1).swapaxes(0, 1))

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


def independent_pearson(x: np.ndarray, y: np.ndarray) -> Pearson:
    """r of independent observations (words of a vocabulary), with Fisher's interval.

        tanh(atanh r +- z / sqrt(n - 3))

    Pairs of which one is NaN are left out.
    """
    import numpy as np

    both = np.isfinite(x) & np.isfinite(y)
    n = int(both.sum())
    nothing = Pearson(math.nan, Interval(math.nan, math.nan), n, n)
    if n < 4 or np.std(x[both]) == 0 or np.std(y[both]) == 0:
        return nothing
    r = float(np.corrcoef(x[both], y[both])[0, 1])
    return Pearson(r, _fisher(r, 1 / math.sqrt(n - 3)), n, n)


def interval_around(r: float, draws: np.ndarray) -> Interval:
    """An interval for the r of two series of means, whose noise lowers r: on Fisher's scale, with the spread of
    the draws, around r and around r corrected by their bias, whichever reaches further.

        z = atanh r,  c = z + (z - mean atanh draws),  tanh [min(z, c) - 1.96 sd, max(z, c) + 1.96 sd]

    The middle of the draws would not do: redrawn means are noisier still, and r can lie above all its draws. NaN
    where fewer than two draws are finite.
    """
    import numpy as np

    some = np.arctanh(np.clip(draws[np.isfinite(draws)], -SURE, SURE))
    if len(some) < 2 or not math.isfinite(r):
        return Interval(math.nan, math.nan)
    bias, deviation = _fisher_scale(r) - float(some.mean()), float(some.std(ddof=1))
    return _fisher(r, deviation, min(0.0, bias), max(0.0, bias))


def _fisher(r: float, deviation: float, lower: float = 0.0, higher: float = 0.0) -> Interval:
    middle, width = _fisher_scale(r), NORMAL * deviation
    return Interval(math.tanh(middle + lower - width), math.tanh(middle + higher + width))


def _fisher_scale(r: float) -> float:
    return math.atanh(max(-SURE, min(SURE, r)))
