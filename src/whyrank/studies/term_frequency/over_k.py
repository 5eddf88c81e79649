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
    undecided     wider than that, or the early slope or gain may be 0
"""

from __future__ import annotations

import math
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from whyrank.evaluation.bootstrap import Interval, cluster_sums, cluster_weights, middle
from whyrank.evaluation.curves import fit_curves
from whyrank.evaluation.wilson import wilson
from whyrank.interventions.statistics import clusters, finite, interval_json

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
    """Means by k, and the same in each draw of queries."""

    ks: list[int]
    means: np.ndarray
    counts: np.ndarray
    drawn: np.ndarray


def effects_over_k(
    frame: pd.DataFrame, *, marginal: bool = False, fitted: int = FITTED, seed: int = 0
) -> dict[str, Any]:
    """For each site its mean effect by k with intervals, the fits over k <= `fitted`, and the verdict."""
    found = {}
    for site, rows in frame.groupby("site", sort=False):
        curve = _curve(rows, "effect", seed)
        points = [
            {"k": k, "mean": float(curve.means[i]), "n": int(curve.counts[i]),
             **interval_json(middle(curve.drawn[:, i]))}
            for i, k in enumerate(curve.ks)
        ]  # fmt: skip
        found[str(site)] = {"points": points, **_fits(curve, fitted), **_shape(curve, marginal)}
    return found


def violations_over_k(frame: pd.DataFrame, *, fitted: int = FITTED, seed: int = 0) -> dict[str, Any]:
    """The share of pairs whose perturbed side does not score higher, by k, with Wilson intervals; and its fits."""
    pairs = frame.drop_duplicates("pair")
    shares = pairs.assign(violates=(pairs["perturbed"] <= pairs["base"]).astype(float))
    curve = _curve(shares, "violates", seed)
    points = [
        {"k": k, "mean": float(curve.means[i]), "n": int(curve.counts[i]),
         **interval_json(wilson(round(curve.means[i] * curve.counts[i]), int(curve.counts[i])))}
        for i, k in enumerate(curve.ks)
    ]  # fmt: skip
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
    drawn = np.full((0, len(ks)), math.nan)
    if len(queries) > 1:
        weights = cluster_weights(len(queries), DRAWS, seed)
        with np.errstate(divide="ignore", invalid="ignore"):
            drawn = (weights @ sums) / (weights @ counts)
        drawn = drawn[np.isfinite(drawn).all(axis=1)]
    return Curve(ks, sums.sum(0) / counts.sum(0), counts.sum(0), drawn)


def _fits(curve: Curve, fitted: int) -> dict[str, Any]:
    import numpy as np

    used = [i for i, k in enumerate(curve.ks) if k <= fitted]
    if len(used) < 3:
        return {"fits": [], "good_fit": False}
    some = [curve.ks[i] for i in used]
    fits = fit_curves(some, curve.means[used].tolist())
    r2: dict[str, list[float]] = {fit.curve: [] for fit in fits}
    best: Counter[str] = Counter()
    for one in curve.drawn:
        again = fit_curves(some, one[used].tolist())
        best[again[0].curve] += 1
        for fit in again:
            r2[fit.curve].append(fit.r2)
    return {
        "fits": [
            {
                "curve": fit.curve, "a": fit.a, "b": fit.b, "r2": finite(fit.r2), "aicc": finite(fit.aicc),
                "r2_interval": interval_json(middle(np.array(r2[fit.curve]))),
                "best_in": best[fit.curve] / max(1, len(curve.drawn)),
            }
            for fit in fits
        ],
        "good_fit": any(fit.curve == "log" and fit.r2 > GOOD_FIT for fit in fits),
    }  # fmt: skip


def _shape(curve: Curve, marginal: bool) -> dict[str, Any]:
    """The verdict and the ratio that it is read from; a curve that may neither rise nor fall early has none."""
    part = max(2, len(curve.ks) // 3)
    if len(curve.ks) < 2 * part or not len(curve.drawn):
        return {"ratio": {"value": None, "low": None, "high": None}, "verdict": "undecided"}
    measure = _gains if marginal else _slopes
    (late, early), drawn = measure(curve.ks, curve.means[None], part), measure(curve.ks, curve.drawn, part)
    value, ends, start = math.nan, Interval(math.nan, math.nan), middle(drawn[1])
    if start.leaves_out_zero:
        value, ends = float(late[0] / early[0]), middle(drawn[0] / drawn[1])
    mean = middle(curve.drawn.mean(axis=1))
    told = {"value": finite(value), **interval_json(ends)}
    return {"ratio": told, "verdict": _verdict(mean, ends, marginal)}


def _slopes(ks: list[int], means: np.ndarray, part: int) -> tuple[np.ndarray, np.ndarray]:
    """The least-squares slopes over the last and over the first `part` steps, from k = 0 on: [draws] each."""
    import numpy as np

    xs = np.array([0, *ks], dtype=float)
    ys = np.concatenate([np.zeros((len(means), 1)), means], axis=1)

    def slope(some: slice) -> np.ndarray:
        x = xs[some] - xs[some].mean()
        return (ys[:, some] @ x) / (x @ x)

    return slope(slice(len(xs) - part - 1, len(xs))), slope(slice(0, part + 1))


def _gains(ks: list[int], means: np.ndarray, part: int) -> tuple[np.ndarray, np.ndarray]:
    """The means of the last and of the first `part` gains: [draws] each."""
    return means[:, -part:].mean(axis=1), means[:, :part].mean(axis=1)


def _verdict(mean: Interval, ratio: Interval, marginal: bool) -> str:
    if not mean.leaves_out_zero:
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
