"""Effects over the number of occurrences (TFC2), and what shape they have.

Cumulative pairs (k against none) are fitted by a ln k + b, a sqrt k + b and a k + b on the mean effect, as in the
papers over k <= 5; marginal ones (k + 1 against k) show the gain of one more, which TFC2 says falls. The verdict
is read from all k: the slope of the last third of the curve over that of the first (which begins at no occurrence
and no effect), or the last third of the gains over the first, with its interval from a bootstrap over queries:

    cumulative                                     marginal
    none          no effect: its mean's interval holds 0
    flattens      below a tenth
    sublinear     below 1                          falls
    linear        holds 1, and between 1/2 and 2   constant
    superlinear   above 1                          rises
    undecided     wider than that, or the early slope or gain may be 0, or there are fewer than 6 queries
"""

from __future__ import annotations

import math
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from whyrank.evaluation.bootstrap import Resampled, cluster_sums, resample
from whyrank.evaluation.curves import CURVES, fit_curves
from whyrank.evaluation.interval import NOT_DEFINED, Interval
from whyrank.evaluation.wilson import share_interval
from whyrank.interventions.statistics import clusters, finite

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

#: Draws of queries, each with its own fits; and the R2 that the paper asks for.
DRAWS, GOOD_FIT = 500, 0.90
#: The paper fits k = 1 to 5.
FITTED = 5
#: Below this ratio of slopes a curve is flat; within these ends it is straight.
FLAT, STRAIGHT = 0.1, (0.5, 2.0)


class Curve(NamedTuple):
    """By k: sums and counts of each query [queries, ks], and their means, drawn again with the queries."""

    ks: list[int]
    sums: np.ndarray
    counts: np.ndarray
    means: Resampled

    def points(self, intervals: list[Interval]) -> list[dict[str, Any]]:
        """One row per k."""
        return [
            {"k": k, "mean": float(self.means.value[i]), "n": int(self.counts[:, i].sum()), **interval.to_json()}
            for i, (k, interval) in enumerate(zip(self.ks, intervals, strict=True))
        ]


def effects_over_k(
    frame: pd.DataFrame, *, marginal: bool = False, fitted: int = FITTED, seed: int = 0
) -> dict[str, Any]:
    """For each site its mean effect by k with intervals, the fits over k <= `fitted`, and the verdict."""
    found = {}
    for site, rows in frame.groupby("site", sort=False):
        curve = _curve(rows, "effect", seed)
        points = curve.points(curve.means.intervals())
        found[str(site)] = {"points": points, **_fits(curve, fitted), **_shape(curve, marginal)}
    return found


def violations_over_k(frame: pd.DataFrame, *, fitted: int = FITTED, seed: int = 0) -> dict[str, Any]:
    """The share of pairs whose perturbed side does not score higher, by k, with intervals; and its fits."""
    pairs = frame.drop_duplicates("pair")
    shares = pairs.assign(violates=(pairs["perturbed"] <= pairs["base"]).astype(float))
    curve = _curve(shares, "violates", seed)
    by_k = zip(curve.sums.T, curve.counts.T, curve.means.intervals(), strict=True)
    points = curve.points([share_interval(hits, sizes, interval) for hits, sizes, interval in by_k])
    return {"points": points, **_fits(curve, fitted)}


def adhering_documents(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows of documents that score higher at every k: filtering pair by pair would change the documents with
    k."""
    rises = (frame["perturbed"] > frame["base"]).groupby([frame["qid"], frame["docid"]]).transform("all")
    return frame[rises]


def _curve(rows: pd.DataFrame, column: str, seed: int) -> Curve:
    import numpy as np
    import pandas as pd

    ks = sorted(int(k) for k in rows["k"].dropna().unique())
    row, queries = pd.factorize(clusters(rows))
    place = rows["k"].map({k: i for i, k in enumerate(ks)}).to_numpy(dtype=int)
    summed = partial(cluster_sums, clusters=row, columns=place, shape=(len(queries), len(ks)))
    sums, counts = summed(rows[column].to_numpy(dtype=float)), summed(np.ones(len(rows)))
    means = resample(
        lambda weights: (weights @ sums) / (weights @ counts),
        len(queries),
        present=(counts > 0).sum(axis=0),
        draws=DRAWS,
        seed=seed,
    )
    return Curve(ks, sums, counts, means)


def _fits(curve: Curve, fitted: int) -> dict[str, Any]:
    import numpy as np

    used = [i for i, k in enumerate(curve.ks) if k <= fitted]
    if len(used) < 3:
        return {"fits": [], "good_fit": False}
    some = [curve.ks[i] for i in used]
    means = curve.means.columns(np.array(used))
    fits = fit_curves(some, means.value.tolist())
    drawn = [fit_curves(some, one.tolist()) for one in means.drawn if np.isfinite(one).all()]
    best = Counter(again[0].curve for again in drawn)
    r2 = dict(zip(CURVES, means.map(partial(_r2, some)).intervals(), strict=True))
    return {
        "fits": [
            {
                "curve": fit.curve, "a": fit.a, "b": fit.b, "r2": fit.r2, "aicc": fit.aicc,
                "r2_interval": r2[fit.curve].within(0, 1).to_json(),
                "best_in": best[fit.curve] / len(drawn) if drawn else None,
            }
            for fit in fits
        ],
        "good_fit": any(fit.curve == "log" and (fit.r2 or 0.0) > GOOD_FIT for fit in fits),
    }  # fmt: skip


def _r2(ks: list[int], rows: np.ndarray) -> np.ndarray:
    """R2 of each curve through each row of means: [rows, curves]."""
    import numpy as np

    found = np.full((len(rows), len(CURVES)), math.nan)
    for row, means in zip(found, rows, strict=True):
        if np.isfinite(means).all():
            row[:] = [
                math.nan if fit.r2 is None else fit.r2
                for fit in sorted(fit_curves(ks, means.tolist()), key=lambda f: CURVES.index(f.curve))
            ]
    return found


def _shape(curve: Curve, marginal: bool) -> dict[str, Any]:
    """The verdict and the ratio that it is read from; a curve that may neither rise nor fall early has none."""
    part = max(2, len(curve.ks) // 3)
    if len(curve.ks) < 2 * part:
        return {"ratio": {"value": None, **Interval.none(NOT_DEFINED).to_json()}, "verdict": "undecided"}
    measure = partial(_gains if marginal else _slopes, curve.ks, part=part)
    both = curve.means.map(lambda means: measure(means))
    early = both.map(lambda ends: ends[:, 1:]).interval()
    value, ratio = math.nan, Interval.none(early.reason or NOT_DEFINED)
    if early.leaves_out_zero:
        slopes = both.map(lambda ends: ends[:, :1] / ends[:, 1:])
        value, ratio = float(slopes.value[0]), slopes.interval()
    mean = curve.means.map(lambda means: means.mean(axis=1, keepdims=True))
    return {
        "ratio": {"value": finite(value), **ratio.to_json()},
        "verdict": _verdict(float(mean.value[0]), mean.interval(), ratio, marginal),
    }


def _slopes(ks: list[int], means: np.ndarray, part: int) -> np.ndarray:
    """The least-squares slopes over the last and over the first `part` steps, from k = 0 on: [draws, 2]."""
    import numpy as np

    xs = np.array([0, *ks], dtype=float)
    ys = np.concatenate([np.zeros((len(means), 1)), means], axis=1)

    def slope(some: slice) -> np.ndarray:
        x = xs[some] - xs[some].mean()
        return (ys[:, some] @ x) / (x @ x)

    return np.stack([slope(slice(len(xs) - part - 1, len(xs))), slope(slice(0, part + 1))], axis=1)


def _gains(ks: list[int], means: np.ndarray, part: int) -> np.ndarray:
    """The means of the last and of the first `part` gains: [draws, 2]."""
    import numpy as np

    return np.stack([means[:, -part:].mean(axis=1), means[:, :part].mean(axis=1)], axis=1)


def _verdict(mean: float, interval: Interval, ratio: Interval, marginal: bool) -> str:
    if not interval and mean != 0:
        return "undecided"
    if not interval.leaves_out_zero:
        return "none"
    if ratio.high < FLAT and not marginal:
        return "flattens"
    if ratio.high < 1:
        return "falls" if marginal else "sublinear"
    if ratio.low > 1:
        return "rises" if marginal else "superlinear"
    if STRAIGHT[0] <= ratio.low and ratio.high <= STRAIGHT[1]:
        return "constant" if marginal else "linear"
    return "undecided"
