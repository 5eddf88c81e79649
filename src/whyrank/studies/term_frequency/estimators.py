"""Three ways to say what a head does, side by side: which heads survive which?

    ratio of sums            sum(patched - base) / sum(pert - base)
    thresholded mean         mean of (patched - base) / (pert - base) over pairs with |pert - base| >= t
    mean of ratios (papers)  the same over all pairs with any gap: explodes where gaps are small

Each with a bootstrap interval over queries. A head survives an estimator when its value is farther from 0 than
chance takes the farthest of all heads in 95% of the draws (max-t: |value| > c s, with s a head's deviation over
the draws and c the 95th percentile of max over heads of |draw - value| / s).
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

from whyrank.evaluation.bootstrap import DRAWS, cluster_sums, cluster_weights, middle
from whyrank.interventions.statistics import SMALL_GAP, clusters, finite, interval_json

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

ESTIMATORS = ("ratio_of_sums", "thresholded_mean", "mean_of_ratios")


def side_by_side(
    frame: pd.DataFrame, *, threshold: float | None = None, draws: int = DRAWS, seed: int = 0
) -> list[dict[str, Any]]:
    """One row a site: each estimator with its interval, n, and whether the site survives it."""
    import numpy as np
    import pandas as pd

    gap = (frame["perturbed"] - frame["base"]).to_numpy(dtype=float)
    effect = frame["effect"].to_numpy(dtype=float)
    least = SMALL_GAP * float(np.median(np.abs(gap))) if threshold is None else threshold
    row, queries = pd.factorize(clusters(frame))
    column, sites = pd.factorize(frame["site"])
    summed = partial(cluster_sums, clusters=row, columns=column, shape=(len(queries), len(sites)))
    some, large = gap != 0, (gap != 0) & (np.abs(gap) >= least)
    ratios = np.divide(effect, gap, out=np.zeros_like(effect), where=some)
    parts = {
        "ratio_of_sums": (summed(effect), summed(gap)),
        "thresholded_mean": (summed(np.where(large, ratios, 0.0)), summed(large.astype(float))),
        "mean_of_ratios": (summed(ratios), summed(some.astype(float))),
    }
    weights = cluster_weights(len(queries), draws, seed) if len(queries) > 1 else None
    found = {name: _estimates(*both, weights) for name, both in parts.items()}
    counts = {name: both[1].sum(axis=0) for name, both in parts.items()}
    rows = np.bincount(column, minlength=len(sites))
    return [
        {
            "site": str(site),
            "n": int(rows[i]),
            "threshold": least,
            **{name: {**found[name][i], "n": int(counts[name][i] if name != "ratio_of_sums" else rows[i])}
               for name in ESTIMATORS},
        }
        for i, site in enumerate(sites)
    ]  # fmt: skip


def _estimates(above: np.ndarray, below: np.ndarray, weights: np.ndarray | None) -> list[dict[str, Any]]:
    """Of sums by query [queries, sites]: the ratio over all queries, and its interval."""
    import numpy as np

    with np.errstate(divide="ignore", invalid="ignore"):
        values = above.sum(axis=0) / below.sum(axis=0)
        drawn = np.full((0, len(values)), math.nan) if weights is None else (weights @ above) / (weights @ below)
    survives = _survivors(values, drawn)
    return [
        {
            "value": finite(float(value)), **interval_json(middle(drawn[:, i])), "survives": bool(survives[i]),
        }
        for i, value in enumerate(values)
    ]  # fmt: skip


def _survivors(values: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    """Which of the values [sites] are not 0, the chance of a single false one among all of them being 5%."""
    import numpy as np

    drawn = drawn[np.isfinite(drawn).all(axis=1)]
    if len(drawn) < 2:
        return np.zeros(len(values), dtype=bool)
    spread = drawn.std(axis=0, ddof=1)
    varies = spread > 0
    farthest = (np.abs(drawn - values)[:, varies] / spread[varies]).max(axis=1, initial=0.0)
    return np.where(varies, np.abs(values) > np.quantile(farthest, 0.95) * spread, values != 0)
