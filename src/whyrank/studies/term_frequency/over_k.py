"""Effects over the number of occurrences (TFC2), and what shape they have.

Cumulative pairs (k against none) are fitted by a ln k + b, a sqrt k + b and a k + b on the mean effect; marginal
ones (k + 1 against k) show the gain of one more, which TFC2 says falls. The verdict is read from a bootstrap over
queries:

    flattens    the last step adds nothing: its interval holds 0 or lies below
    sublinear   it rises still, and the log or square root fits better than the line (AICc) in most draws
    linear      it rises, and the line fits better
    none        there is no effect to describe
"""

from __future__ import annotations

import math
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any

from whyrank.evaluation.bootstrap import cluster_sums, cluster_weights, middle
from whyrank.evaluation.curves import fit_curves
from whyrank.interventions.statistics import clusters, finite, interval_json

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

#: Draws of queries, each with its own fits; and the R2 that the paper asks for.
DRAWS, GOOD_FIT = 500, 0.90
#: The paper fits k = 1 to 5.
FITTED = 5


def effects_over_k(frame: pd.DataFrame, *, fitted: int = FITTED, seed: int = 0) -> dict[str, Any]:
    """For each site its mean effect by k with intervals, the fits over k <= `fitted`, and the verdict."""
    return {str(site): _curve(rows, "effect", fitted, seed) for site, rows in frame.groupby("site", sort=False)}


def violations_over_k(frame: pd.DataFrame, *, fitted: int = FITTED, seed: int = 0) -> dict[str, Any]:
    """The share of pairs whose perturbed side does not score higher, by k, and its fits."""
    pairs = frame.drop_duplicates("pair")
    shares = pairs.assign(violates=(pairs["perturbed"] <= pairs["base"]).astype(float))
    return _curve(shares, "violates", fitted, seed)


def _curve(rows: pd.DataFrame, column: str, fitted: int, seed: int) -> dict[str, Any]:
    import numpy as np
    import pandas as pd

    ks = sorted(int(k) for k in rows["k"].dropna().unique())
    row, queries = pd.factorize(clusters(rows))
    place = rows["k"].map({k: i for i, k in enumerate(ks)}).to_numpy(dtype=int)
    summed = partial(cluster_sums, clusters=row, columns=place, shape=(len(queries), len(ks)))
    sums, counts = summed(rows[column].to_numpy(dtype=float)), summed(np.ones(len(rows)))
    means = sums.sum(0) / counts.sum(0)
    drawn = np.full((0, len(ks)), math.nan)
    if len(queries) > 1:
        weights = cluster_weights(len(queries), DRAWS, seed)
        with np.errstate(divide="ignore", invalid="ignore"):
            drawn = (weights @ sums) / (weights @ counts)
        drawn = drawn[np.isfinite(drawn).all(axis=1)]
    return {
        "points": [
            {"k": k, "mean": float(means[i]), "n": int(counts[:, i].sum()), **interval_json(middle(drawn[:, i]))}
            for i, k in enumerate(ks)
        ],
        **_fits(ks, means, drawn, fitted),
    }


def _fits(ks: list[int], means: np.ndarray, drawn: np.ndarray, fitted: int) -> dict[str, Any]:
    import numpy as np

    used = [i for i, k in enumerate(ks) if k <= fitted]
    if len(used) < 3:
        return {"fits": [], "verdict": "none"}
    some = [ks[i] for i in used]
    fits = fit_curves(some, means[used].tolist())
    r2: dict[str, list[float]] = {fit.curve: [] for fit in fits}
    best: Counter[str] = Counter()
    for one in drawn:
        again = fit_curves(some, one[used].tolist())
        best[again[0].curve] += 1
        for fit in again:
            r2[fit.curve].append(fit.r2)
    return {
        "fits": [
            {
                "curve": fit.curve, "a": fit.a, "b": fit.b, "r2": finite(fit.r2), "aicc": finite(fit.aicc),
                "r2_interval": interval_json(middle(np.array(r2[fit.curve]))),
                "best_in": best[fit.curve] / max(1, len(drawn)),
            }
            for fit in fits
        ],
        "good_fit": any(fit.curve == "log" and fit.r2 > GOOD_FIT for fit in fits),
        "verdict": _verdict(drawn[:, used], best),
    }  # fmt: skip


def _verdict(drawn: np.ndarray, best: Counter[str]) -> str:
    """From the draws of the points fitted."""
    import numpy as np

    if not len(drawn):
        return "none"
    rise = drawn[:, -1] - drawn[:, 0]
    last = drawn[:, -1] - drawn[:, -2]
    whole, step = (np.quantile(one, [0.025, 0.975]) for one in (rise, last))
    if whole[0] <= 0 <= whole[1]:
        return "none"
    direction = 1 if whole[0] > 0 else -1
    if min(direction * step) <= 0:
        return "flattens"
    return "linear" if best["linear"] > len(drawn) / 2 else "sublinear"
