"""Three ways to say what a head does, side by side: which heads survive which?

    ratio of sums            sum(patched - base) / sum(pert - base)
    thresholded mean         mean of (patched - base) / (pert - base) over pairs with |pert - base| >= t
    mean of ratios (papers)  the same over all pairs with any gap: explodes where gaps are small

Each with a bootstrap interval over queries. A head survives an estimator when its interval there leaves out 0.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

from whyrank.evaluation.bootstrap import DRAWS, Interval, cluster_sums, cluster_weights, middle
from whyrank.interventions.statistics import SMALL_GAP, clusters, finite

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
        drawn = None if weights is None else (weights @ above) / (weights @ below)
    told = []
    for i, value in enumerate(values):
        low, high = Interval(math.nan, math.nan) if drawn is None else middle(drawn[:, i])
        told.append(
            {
                "value": finite(float(value)), "low": finite(low), "high": finite(high),
                "survives": bool(low > 0 or high < 0),
            }
        )  # fmt: skip
    return told
