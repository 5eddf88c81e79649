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

from functools import partial
from typing import TYPE_CHECKING, Any

from whyrank.evaluation.bootstrap import DRAWS, Resampled, cluster_sums, resample, stretch
from whyrank.interventions.statistics import SMALL_GAP, SiteTable, beyond_rounding, clusters, finite

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

ESTIMATORS = ("ratio_of_sums", "thresholded_mean", "mean_of_ratios")


def side_by_side(
    frame: pd.DataFrame, *, threshold: float | None = None, draws: int = DRAWS, seed: int = 0
) -> list[dict[str, Any]]:
    """One row a site: each estimator with its interval, n, and whether the site survives it (None: not known)."""
    import numpy as np
    import pandas as pd

    size = (frame["perturbed"].abs() + frame["base"].abs()).to_numpy(dtype=float)
    gap = beyond_rounding((frame["perturbed"] - frame["base"]).to_numpy(dtype=float), size)
    least = SMALL_GAP * float(np.median(np.abs(np.nan_to_num(gap)))) if threshold is None else threshold
    some, large = np.isfinite(gap), np.abs(gap) >= least
    ratios = np.divide(frame["effect"].to_numpy(dtype=float), gap, out=np.zeros(len(gap)), where=some)
    row, queries = pd.factorize(clusters(frame))
    column, sites = pd.factorize(frame["site"])
    summed = partial(cluster_sums, clusters=row, columns=column, shape=(len(queries), len(sites)))
    again = partial(resample, clusters=len(queries), draws=draws, seed=seed)

    def mean_of(which: np.ndarray) -> tuple[Resampled, np.ndarray]:
        sums, counts = summed(np.where(which, ratios, 0.0)), summed(which.astype(float))
        statistic = partial(_mean, sums, counts)
        return again(statistic, present=(counts > 0).sum(axis=0)), counts.sum(axis=0)

    table = SiteTable.of(frame)
    found = {
        "ratio_of_sums": (again(table.ratios, present=table.present), table.count.sum(axis=0)),
        "thresholded_mean": mean_of(large),
        "mean_of_ratios": mean_of(some),
    }
    told = {name: _estimates(*both) for name, both in found.items()}
    return [
        {
            "site": str(site), "n": int(table.count[:, i].sum()), "threshold": least,
            **{name: told[name][i] for name in ESTIMATORS},
        }
        for i, site in enumerate(sites)
    ]  # fmt: skip


def _mean(sums: np.ndarray, counts: np.ndarray, weights: np.ndarray) -> np.ndarray:
    return (weights @ sums) / (weights @ counts)


def _estimates(again: Resampled, counts: np.ndarray) -> list[dict[str, Any]]:
    """Each site's value with its interval."""
    survives = _survivors(again)
    return [
        {"value": finite(float(value)), **interval.to_json(), "survives": survives[i], "n": int(counts[i])}
        for i, (value, interval) in enumerate(zip(again.value, again.intervals(), strict=True))
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
