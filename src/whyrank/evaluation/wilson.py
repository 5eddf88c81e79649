"""The interval of a share: wide enough at 0% and 100%, and for pairs that come in queries."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from whyrank.evaluation.interval import FEWEST_QUERIES, NOT_DEFINED, SMALL_SAMPLE, TOO_FEW, Interval

if TYPE_CHECKING:
    import numpy as np

#: The normal's 97.5% point.
Z = 1.959963984540054


def wilson(hits: float, of: float) -> Interval:
    """Wilson's 95% score interval of hits / of; it holds for few, and for none or all (Wilson 1927).

    (p + z^2/2n +- z sqrt(p(1-p)/n + z^2/4n^2)) / (1 + z^2/n)
    """
    if not of:
        return Interval.none(NOT_DEFINED)
    p, z = hits / of, Z
    middle, around = p + z * z / (2 * of), z * math.sqrt(max(0.0, p * (1 - p)) / of + z * z / (4 * of * of))
    low, high = ((middle + side * around) / (1 + z * z / of) for side in (-1, 1))
    return Interval(max(0.0, low), min(1.0, high)).around(p)


def share_interval(hits: np.ndarray, sizes: np.ndarray, bootstrap: Interval) -> Interval:
    """The interval of sum(hits) / sum(sizes), both by query [queries].

    With more than 15 queries, 6 or more of which hold the rarer outcome, that of the bootstrap. Else Wilson's, on
    as many independent pairs as would be as sure: n = p (1 - p) / v (z / t)^2, v the jackknife's variance over G
    queries and t of Student's distribution with G - 1 degrees of freedom (Korn and Graubard 1998). At 0% and 100%
    nothing varies, and pairs of one query may all be one: n = sum(sizes)^2 / sum(sizes^2), the number of queries
    if all have as many pairs.
    """
    import numpy as np
    from scipy.special import stdtrit

    hits, sizes = (one[sizes > 0] for one in (hits, sizes))
    count, of = len(sizes), float(sizes.sum())
    if count < FEWEST_QUERIES:
        return Interval.none(TOO_FEW)
    p = float(hits.sum() / of)
    if not math.isfinite(p):
        return Interval.none(NOT_DEFINED)
    if p in (0.0, 1.0):
        effective = of**2 / float((sizes**2).sum())
        return wilson(p * effective, effective)
    rarer = int((hits > 0).sum() if p < 0.5 else (hits < sizes).sum())
    if count > SMALL_SAMPLE and rarer >= FEWEST_QUERIES:
        return bootstrap
    left_out = (hits.sum() - hits) / (of - sizes)
    variance = float((count - 1) / count * ((left_out - p) ** 2).sum())
    alike = min(of, p * (1 - p) / variance) if variance else of
    effective = alike * (Z / float(np.asarray(stdtrit(count - 1, 0.975)))) ** 2
    return wilson(p * effective, effective)
