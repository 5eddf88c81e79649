"""A 95% interval, or the reason why there is none.

One rule for all of whyrank. The unit is the query: rows of one query are not independent of each other.

    fewer than 6 queries   no interval: 'too few queries'
    6 to 15 queries        the bootstrap with a correction for small samples (see `bootstrap`)
    more                   the bootstrap

A value that is the same in every query has no interval either ('no spread'): that it does not vary in these
queries does not say that it never varies.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

#: With fewer queries than this there is no interval and no p-value: with five, all of one sign, the p-value of a
#: randomisation test could not be below 2 / 2^5 = 0.06.
FEWEST_QUERIES = 6
#: Up to so many queries the bootstrap's own intervals are too narrow.
SMALL_SAMPLE = 15
LEVEL = 0.95

TOO_FEW = "too few queries"
NO_SPREAD = "no spread"
NOT_DEFINED = "not defined"


@dataclass(frozen=True)
class Interval:
    """The ends of an interval; NaN where there is none, and then the reason."""

    low: float
    high: float
    reason: str | None = None

    @classmethod
    def none(cls, reason: str) -> Interval:
        """No interval, for this reason."""
        return cls(math.nan, math.nan, reason)

    def __bool__(self) -> bool:
        """Whether there is one."""
        return self.reason is None

    @property
    def leaves_out_zero(self) -> bool:
        """Whether what it is of is surely other than 0."""
        return bool(self.low > 0 or self.high < 0)

    @property
    def ends(self) -> tuple[float | None, float | None]:
        """For tables and JSON, which have no NaN."""
        return (self.low, self.high) if self else (None, None)

    @property
    def width(self) -> float:
        return self.high - self.low

    def around(self, value: float) -> Interval:
        """The same, widened to hold the value that it is of."""
        return Interval(min(self.low, value), max(self.high, value)) if self else self

    def within(self, least: float, most: float) -> Interval:
        """The same, without what the value cannot be."""
        return Interval(max(self.low, least), min(self.high, most)) if self else self

    def scaled(self, by: float) -> Interval:
        """The interval of `by` times the value."""
        low, high = sorted((self.low * by, self.high * by))
        return Interval(low, high) if self else self
