"""Three ways to say what a head does, side by side: which heads survive which?

    ratio of sums            sum(patched - base) / sum(pert - base)
    thresholded mean         mean of (patched - base) / (pert - base) over pairs with |pert - base| >= t
    mean of ratios (papers)  the same over all pairs with any gap: explodes where gaps are small

Each with a bootstrap interval over queries. A head survives an estimator when its value is farther from 0 than
chance takes the farthest of all heads in 95% of the draws (max-t: |value| > c s, with s a head's deviation over
the draws and c the 95th percentile of max over heads of |draw - value| / s; for 6 to 15 queries c is stretched as
intervals are). With fewer than 6 queries nothing can be said, and nothing survives.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from whyrank.evaluation.bootstrap import DRAWS, Resampled, cluster_sums, resample, stretch
from whyrank.evaluation.estimate import Estimate
from whyrank.interventions.statistics import SMALL_GAP, SiteTable, beyond_rounding, clusters
from whyrank.papers.term_frequency.parts import Estimators, Survival

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd


def side_by_side(
    frame: pd.DataFrame, *, threshold: float | None = None, draws: int = DRAWS, seed: int = 0
) -> tuple[Estimators, ...]:
    """All three estimators of each site."""
    import numpy as np

    ratios = _Ratios.of(frame, draws, seed)
    gaps = np.abs(np.nan_to_num(ratios.gap))
    least = SMALL_GAP * float(np.median(gaps)) if threshold is None else threshold
    table = SiteTable.of(frame)
    counts = table.count.sum(axis=0)
    of_sums = resample(table.ratios, len(table.queries), present=table.present, draws=draws, seed=seed)
    known = np.isfinite(ratios.gap)
    columns = (_survivals(of_sums, counts), ratios.mean(known & (gaps >= least)), ratios.mean(known))
    return tuple(
        Estimators(site, int(counts[i]), least, *(column[i] for column in columns))
        for i, site in enumerate(table.sites)
    )


@dataclass(frozen=True)
class _Ratios:
    """The effect by the gap of each row [rows], with its query and site by number; the gap is NaN where there is
    none but rounding."""

    gap: np.ndarray
    ratio: np.ndarray
    query: np.ndarray
    site: np.ndarray
    shape: tuple[int, int]
    draws: int
    seed: int

    @classmethod
    def of(cls, frame: pd.DataFrame, draws: int, seed: int) -> _Ratios:
        import numpy as np
        import pandas as pd

        size = (frame["perturbed"].abs() + frame["base"].abs()).to_numpy(dtype=float)
        gap = beyond_rounding((frame["perturbed"] - frame["base"]).to_numpy(dtype=float), size)
        effect = frame["effect"].to_numpy(dtype=float)
        ratio = np.divide(effect, gap, out=np.zeros(len(gap)), where=np.isfinite(gap))
        query, queries = pd.factorize(clusters(frame))
        site, sites = pd.factorize(frame["site"])
        return cls(gap, ratio, query, site, (len(queries), len(sites)), draws, seed)

    def mean(self, which: np.ndarray) -> list[Survival]:
        """The mean of some rows' ratios, by site."""
        import numpy as np

        summed = partial(cluster_sums, clusters=self.query, columns=self.site, shape=self.shape)
        sums, counts = summed(np.where(which, self.ratio, 0.0)), summed(which.astype(float))
        again = resample(
            lambda weights: (weights @ sums) / (weights @ counts), self.shape[0],
            present=(counts > 0).sum(axis=0), draws=self.draws, seed=self.seed,
        )  # fmt: skip
        return _survivals(again, counts.sum(axis=0))


def _survivals(again: Resampled, counts: np.ndarray) -> list[Survival]:
    """Each site's value with its interval, and whether it survives."""
    survives, intervals = _survivors(again), again.intervals()
    return [
        Survival(Estimate.of(float(value), intervals[i], int(counts[i]), int(again.clusters[i])), survives[i])
        for i, value in enumerate(again.value)
    ]


def _survivors(again: Resampled) -> list[bool | None]:
    """Which of the sites are not 0, the chance of a single false one among all of them being 5%; None where there
    are too few queries."""
    import numpy as np

    values, known = again.value, np.isfinite(again.value)
    drawn = again.drawn[np.isfinite(again.drawn[:, known]).all(axis=1)]
    if len(drawn) < 2:
        return [None] * len(values)
    spread = np.where(known, drawn.std(axis=0, ddof=1), 0.0)
    varies = spread > 0
    farthest = (np.abs(drawn - values)[:, varies] / spread[varies]).max(axis=1, initial=0.0)
    limit = np.quantile(farthest, 0.95) * stretch(again.clusters) * spread
    return [bool(varies[i] and abs(values[i]) > limit[i]) if known[i] else None for i in range(len(values))]
