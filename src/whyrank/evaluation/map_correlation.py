"""The correlation of two maps (the effects of the same sites in two settings), each a mean over queries.

The noise of means lowers r, and redrawn means are noisier still, so that r can lie above all its draws: the middle
of the draws would not do. The interval is on Fisher's scale, z = atanh r, with the spread s of the draws, and
reaches from r to a corrected r, whichever end is further out.

More than 15 queries: z + (z - mean atanh draws) is the correction, 1.96 s the reach. From 6 to 15 the noise is
taken out of the moments (N: covariances over the draws, mean over sites, times G / (G - 1); V: over sites):

    c = atanh (V12 - N12) / sqrt((V11 - N11)(V22 - N22)),  reach: t s around r, t s / reliability around c

with t of G - 1 degrees of freedom and reliability = sqrt((1 - N11/V11)(1 - N22/V22)), no less than LEAST. Below 6
queries there is no interval.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from whyrank.evaluation.bootstrap import SURE, Z
from whyrank.evaluation.correlation import fisher_scale, is_constant
from whyrank.evaluation.interval import FEWEST_QUERIES, NOT_DEFINED, SMALL_SAMPLE, TOO_FEW, Interval

if TYPE_CHECKING:
    import numpy as np

#: Maps of which the noise is nearly all there is are not corrected any further.
LEAST = 0.05
#: r over fewer places is not defined.
FEWEST_PLACES = 3


def map_correlation(a: Sequence[float] | np.ndarray, b: Sequence[float] | np.ndarray) -> float:
    """Pearson's r over the places where both are finite; NaN if there are fewer than three, or no spread."""
    import numpy as np

    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    both = np.isfinite(a) & np.isfinite(b)
    if both.sum() < FEWEST_PLACES or is_constant(a[both]) or is_constant(b[both]):
        return math.nan
    return float(np.corrcoef(a[both], b[both])[0, 1])


def map_interval(maps: Sequence[np.ndarray], drawn: Sequence[np.ndarray], queries: int) -> Interval:
    """The interval of the r of two maps [sites], which are drawn anew [draws, sites] with the queries."""
    import numpy as np

    r = map_correlation(*maps)
    if not math.isfinite(r):
        return Interval.none(NOT_DEFINED)
    if queries < FEWEST_QUERIES:
        return Interval.none(TOO_FEW)
    draws = row_correlations(*drawn)
    some = np.arctanh(np.clip(draws[np.isfinite(draws)], -SURE, SURE))
    if len(some) < 2:
        return Interval.none(NOT_DEFINED)
    middle, spread = fisher_scale(r), float(some.std(ddof=1))
    if queries > SMALL_SAMPLE:
        bias = middle - float(some.mean())
        low, high = middle + min(0.0, bias) - Z * spread, middle + max(0.0, bias) + Z * spread
    else:
        low, high = _small_sample(maps, drawn, queries, middle, spread)
    return Interval(math.tanh(low), math.tanh(high)).around(r)


def _small_sample(
    maps: Sequence[np.ndarray], drawn: Sequence[np.ndarray], queries: int, middle: float, spread: float
) -> tuple[float, float]:
    """The ends on Fisher's scale for 6 to 15 queries."""
    import numpy as np
    from scipy.special import stdtrit

    known = np.isfinite(np.stack(list(maps))).all(axis=0)
    known &= np.isfinite(np.concatenate(list(drawn))).all(axis=0)
    again = queries / (queries - 1)
    reach = float(stdtrit(queries - 1, 0.975)) * math.sqrt(again) * spread
    if known.sum() < FEWEST_PLACES:
        return middle - reach, middle + reach
    one, other = (values[known] for values in maps)
    apart = [values[:, known] - values[:, known].mean(axis=0) for values in drawn]
    over = np.cov(one, other)
    noise = [float((x * y).mean()) * again for x, y in ((apart[0], apart[0]), (apart[1], apart[1]), tuple(apart))]
    trust = [max(LEAST, 1 - noise[i] / float(over[i, i])) for i in (0, 1)]
    reliability = math.sqrt(trust[0] * trust[1])
    corrected = fisher_scale(
        (float(over[0, 1]) - noise[2]) / math.sqrt(float(over[0, 0] * over[1, 1])) / reliability
    )
    return (
        min(middle - reach, corrected - reach / reliability),
        max(middle + reach, corrected + reach / reliability),
    )


def row_correlations(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """r of the rows of two tables [n, sites]: [n]."""
    import numpy as np

    both = np.isfinite(a) & np.isfinite(b)
    a, b = (np.where(both, x, 0.0) for x in (a, b))
    with np.errstate(divide="ignore", invalid="ignore"):
        count = both.sum(axis=1, keepdims=True)
        a, b = (np.where(both, x - x.sum(axis=1, keepdims=True) / count, 0.0) for x in (a, b))
        return (a * b).sum(axis=1) / np.sqrt((a**2).sum(axis=1) * (b**2).sum(axis=1))
