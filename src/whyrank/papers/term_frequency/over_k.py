"""Effects over the number of occurrences (TFC2), and what shape they have.

Cumulative pairs (k against none) are fitted by a ln k + b, a sqrt k + b and a k + b on the mean effect, as in the
papers over k <= 5; marginal ones (k + 1 against k) show the gain of one more, which TFC2 says falls. The shape
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
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from whyrank.evaluation.bootstrap import Resampled, cluster_sums, resample
from whyrank.evaluation.curves import CURVES, Fit, fit_curves
from whyrank.evaluation.estimate import Estimate, finite
from whyrank.evaluation.interval import NOT_DEFINED, Interval
from whyrank.evaluation.wilson import share_interval
from whyrank.interventions.statistics import clusters
from whyrank.papers.term_frequency.parts import Curve, CurveFit, EffectCurve, Point

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

#: Draws of queries, each with its own fits.
DRAWS = 500
#: The paper fits k = 1 to 5.
FITTED = 5
#: Below this ratio of slopes a curve is flat; within these ends it is straight.
FLAT, STRAIGHT = 0.1, (0.5, 2.0)


def effects_over_k(
    frame: pd.DataFrame, *, marginal: bool = False, fitted: int = FITTED, seed: int = 0
) -> dict[str, EffectCurve]:
    """For each site its mean effect by k with intervals, the fits over k <= `fitted`, and the shape."""
    found = {}
    for site, rows in frame.groupby("site", sort=False):
        means = _Means.of(rows, "effect", seed)
        ratio, shape = _shape(means, marginal)
        found[str(site)] = EffectCurve(means.points(means.again.intervals()), _fits(means, fitted), ratio, shape)
    return found


def violations_over_k(frame: pd.DataFrame, *, fitted: int = FITTED, seed: int = 0) -> Curve:
    """The share of pairs whose perturbed side does not score higher, by k, with intervals; and its fits."""
    pairs = frame.drop_duplicates("pair")
    shares = pairs.assign(violates=(pairs["perturbed"] <= pairs["base"]).astype(float))
    means = _Means.of(shares, "violates", seed)
    by_k = zip(means.sums.T, means.counts.T, means.again.intervals(), strict=True)
    points = means.points([share_interval(hits, sizes, interval) for hits, sizes, interval in by_k])
    return Curve(points, _fits(means, fitted))


def adhering_documents(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows of documents that score higher at every k: filtering pair by pair would change the documents with
    k."""
    rises = (frame["perturbed"] > frame["base"]).groupby([frame["qid"], frame["docid"]]).transform("all")
    return frame[rises]


@dataclass(frozen=True, eq=False)
class _Means:
    """By k: sums and counts of each query [queries, ks], and their means, drawn again with the queries."""

    ks: list[int]
    sums: np.ndarray
    counts: np.ndarray
    again: Resampled

    @classmethod
    def of(cls, rows: pd.DataFrame, column: str, seed: int) -> _Means:
        import numpy as np
        import pandas as pd

        ks = sorted(int(k) for k in rows["k"].dropna().unique())
        row, queries = pd.factorize(clusters(rows))
        place = rows["k"].map({k: i for i, k in enumerate(ks)}).to_numpy(dtype=int)
        summed = partial(cluster_sums, clusters=row, columns=place, shape=(len(queries), len(ks)))
        sums, counts = summed(rows[column].to_numpy(dtype=float)), summed(np.ones(len(rows)))
        again = resample(
            lambda weights: (weights @ sums) / (weights @ counts), len(queries),
            present=(counts > 0).sum(axis=0), draws=DRAWS, seed=seed,
        )  # fmt: skip
        return cls(ks, sums, counts, again)

    @property
    def size(self) -> tuple[int, int]:
        """How many rows and queries there are at most at one k."""
        return int(self.counts.sum(axis=0).max(initial=0)), int(self.again.clusters.max(initial=0))

    def points(self, intervals: list[Interval]) -> tuple[Point, ...]:
        """One per k."""
        rows, queries = self.counts.sum(axis=0).astype(int), self.again.clusters
        return tuple(
            Point(k, Estimate.of(float(self.again.value[i]), intervals[i], int(rows[i]), int(queries[i])))
            for i, k in enumerate(self.ks)
        )


def _fits(means: _Means, fitted: int) -> tuple[CurveFit, ...]:
    """The three curves through the means of k <= `fitted`, the best first; none for fewer than three points."""
    import numpy as np

    used = [i for i, k in enumerate(means.ks) if k <= fitted]
    if len(used) < 3:
        return ()
    some, again = [means.ks[i] for i in used], means.again.columns(np.array(used))
    drawn = [fit_curves(some, one.tolist()) for one in again.drawn if np.isfinite(one).all()]
    best = Counter(fits[0].curve for fits in drawn)
    r2 = dict(zip(CURVES, again.map(partial(_r2, some)).intervals(), strict=True))

    def found(fit: Fit) -> CurveFit:
        ends = Estimate.of(fit.r2, r2[fit.curve].within(0, 1), *means.size)
        share = best[fit.curve] / len(drawn) if drawn else None
        return CurveFit(fit.curve, fit.a, fit.b, ends, finite(fit.aicc), share)

    return tuple(found(fit) for fit in fit_curves(some, again.value.tolist()))


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


def _shape(means: _Means, marginal: bool) -> tuple[Estimate, str]:
    """The ratio of late to early, and the shape that it says; a curve that may neither rise nor fall early has no
    ratio."""
    part = max(2, len(means.ks) // 3)
    if len(means.ks) < 2 * part:
        return Estimate.undefined(*means.size), "undecided"
    measure = partial(_gains if marginal else _slopes, means.ks, part=part)
    both = means.again.map(lambda rows: measure(rows))
    early = both.map(lambda ends: ends[:, 1:]).interval()
    value, ratio = math.nan, Interval.none(early.reason or NOT_DEFINED)
    if early.leaves_out_zero:
        slopes = both.map(lambda ends: ends[:, :1] / ends[:, 1:])
        value, ratio = float(slopes.value[0]), slopes.interval()
    mean = means.again.map(lambda rows: rows.mean(axis=1, keepdims=True))
    shape = _named(float(mean.value[0]), mean.interval(), ratio, marginal)
    if not math.isfinite(value):
        return Estimate.undefined(*means.size, why=ratio.reason or NOT_DEFINED), shape
    return Estimate.of(value, ratio, *means.size), shape


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


def _named(mean: float, interval: Interval, ratio: Interval, marginal: bool) -> str:
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
