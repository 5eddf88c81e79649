"""The interval of a share."""

from __future__ import annotations

import math

from whyrank.evaluation.bootstrap import Interval

#: The normal's 97.5% point.
Z = 1.959963984540054


def wilson(hits: int, of: int) -> Interval:
    """Wilson's 95% score interval of hits / of; it holds for few, and for none or all (Wilson 1927).

    (p + z^2/2n +- z sqrt(p(1-p)/n + z^2/4n^2)) / (1 + z^2/n)
    """
    if not of:
        return Interval(math.nan, math.nan)
    p, z = hits / of, Z
    middle, around = p + z * z / (2 * of), z * math.sqrt(p * (1 - p) / of + z * z / (4 * of * of))
    low, high = ((middle + side * around) / (1 + z * z / of) for side in (-1, 1))
    return Interval(max(0.0, low), min(1.0, high))
