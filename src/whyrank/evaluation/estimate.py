"""A value with its 95% interval over queries; how it is written; and when there is a p-value."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from whyrank.evaluation.bootstrap import clustered_intervals
from whyrank.evaluation.interval import FEWEST_QUERIES, NOT_DEFINED, TOO_FEW, Interval
from whyrank.evaluation.significance import Significance, holm, paired_t_test

if TYPE_CHECKING:
    import numpy as np

#: Below this a corrected p-value is significant.
SIGNIFICANT = 0.05
#: A form of percentages: with a sign or not, and how many digits after the point.
_PERCENT = re.compile(r"(\+?)(?:\.(\d+))?%")
#: What stands where a value is missing.
NOTHING = "–"


@dataclass(frozen=True)
class Estimate:
    """A value with its 95% interval over queries: what every number that is shown as a finding is carried by.

    `pairs` counts the rows it was computed from, `queries` the queries they belong to (0 where there are none: a
    correlation over words has pairs only). `value` is None where it is not defined. Without an interval `low` and
    `high` are None, and `no_interval` says why.
    """

    value: float | None
    low: float | None
    high: float | None
    pairs: int
    queries: int
    no_interval: str | None = None

    @classmethod
    def of(cls, value: float | None, interval: Interval, pairs: int, queries: int) -> Estimate:
        """From a value and its interval; a value that is not finite is not defined."""
        if value is None or not math.isfinite(value):
            return cls(None, None, None, pairs, queries, NOT_DEFINED)
        low, high = interval.ends
        return cls(float(value), low, high, pairs, queries, interval.reason)

    @classmethod
    def undefined(cls, pairs: int = 0, queries: int = 0, why: str = NOT_DEFINED) -> Estimate:
        """No value."""
        return cls(None, None, None, pairs, queries, why)

    @classmethod
    def mean(
        cls,
        values: Sequence[float] | np.ndarray,
        queries: Sequence[str],
        seed: int = 0,
        *,
        share: bool = False,
        within: tuple[float, float] | None = None,
    ) -> Estimate:
        """The mean over pairs; `share`: of values that are 0 or 1; `within`: the least and the most it can be."""
        import numpy as np

        column = np.asarray(values, dtype=float)
        if not len(column):
            return cls.undefined()
        shares = (0,) if share else ()
        (interval,) = clustered_intervals(column[:, None], queries, shares=shares, seed=seed)
        interval = interval.within(*within) if within else interval
        return cls.of(float(column.mean()), interval, len(column), len(set(queries)))

    @property
    def interval(self) -> Interval:
        if self.low is None or self.high is None:
            return Interval.none(self.no_interval or NOT_DEFINED)
        return Interval(self.low, self.high)

    @property
    def is_sure(self) -> bool:
        """Whether the interval excludes 0: the value is surely positive or surely negative."""
        return self.is_above_zero or self.is_below_zero

    @property
    def is_above_zero(self) -> bool:
        """Whether the whole interval is above 0: the value is surely positive."""
        return self.low is not None and self.low > 0

    @property
    def is_below_zero(self) -> bool:
        """Whether the whole interval is below 0: the value is surely negative."""
        return self.high is not None and self.high < 0

    def has_sign(self, sign: int) -> bool:
        """Whether the value surely has this sign, +1 or -1."""
        return self.is_above_zero if sign > 0 else self.is_below_zero

    def text(self, form: str = ".3f") -> str:
        """`0.777 [0.711, 0.844]`, `0.777 (too few queries)`, `–`."""
        return estimate_text(self.value, self.interval, form)

    def percent(self, digits: int = 0) -> str:
        """A share as people read it: `96% [91%, 98%]`."""
        return self.text(f".{digits}%")

    def __format__(self, form: str) -> str:
        """`f"{estimate:.1%}"` is its text."""
        return self.text(form) if form else self.text()


@dataclass(frozen=True)
class Comparison:
    """A paired comparison over queries: the mean difference, and its p-value, raw and Holm-corrected over the
    family of comparisons it was made in; None where it could not be tested."""

    difference: Estimate
    p: float | None
    p_holm: float | None

    @classmethod
    def family(
        cls,
        differences: Sequence[Sequence[float]],
        test: Callable[..., Significance] = paired_t_test,
        seed: int = 0,
        **settings: Any,
    ) -> list[Comparison]:
        """One comparison for each row of differences, one difference per query; Holm's correction over all."""
        p_values = [p_over_queries(one, test, **settings) for one in differences]
        estimates = [Estimate.mean(one, [str(i) for i in range(len(one))], seed) for one in differences]
        return [
            cls(estimate, finite(p), finite(corrected))
            for estimate, p, corrected in zip(estimates, p_values, holm(p_values), strict=True)
        ]

    @property
    def is_significant(self) -> bool:
        return is_significant(self.p_holm)

    def text(self, form: str = "+.3f") -> str:
        """`+0.021 [0.004, 0.039], significant`."""
        return f"{self.difference.text(form)}, {significance_text(self.p_holm)}"


def finite(value: float | None) -> float | None:
    """The value, or None where it is not a finite number."""
    return None if value is None or not math.isfinite(value) else float(value)


def estimate_text(value: float | None, interval: Interval, form: str = ".3f") -> str:
    """`0.777 [0.711, 0.844]`; `0.777 (too few queries)` without an interval, `–` without a value. A sign in `form`
    is the value's only."""
    if value is None or not math.isfinite(value):
        return NOTHING
    if not interval:
        return f"{_number(value, form)} ({interval.reason})"
    plain = form.lstrip("+")
    return f"{_number(value, form)} [{_number(interval.low, plain)}, {_number(interval.high, plain)}]"


def percent(share: float | None, digits: int = 0, sign: str = "") -> str:
    """How every percentage is written: `96%`; `<1%` and `>99%` for what is not quite nothing or everything; `–`
    without a value. `sign`: `+` before what is above 0."""
    if share is None or not math.isfinite(share):
        return NOTHING
    least, size = 10.0**-digits, round(100 * abs(share), 9)
    minus = "-" if share < 0 else sign
    if 0 < size <= least / 2:
        return f"{'>-' if minus == '-' else '<'}{least:.{digits}f}%"
    if 100 - least / 2 <= size < 100:
        return f"{'<-' if minus == '-' else '>'}{100 - least:.{digits}f}%"
    return f"{minus if size else ''}{size:.{digits}f}%"


def _number(value: float, form: str) -> str:
    found = _PERCENT.fullmatch(form)
    return percent(value, int(found[2] or 0), found[1]) if found else f"{value:{form}}"


def p_over_queries(
    differences: Sequence[float], test: Callable[..., Significance] = paired_t_test, **settings: Any
) -> float:
    """p of the differences, one for each query, against 0; NaN where there are too few queries for any finding."""
    if len(differences) < FEWEST_QUERIES:
        return math.nan
    return test(differences, [0.0] * len(differences), **settings).p


def is_significant(p: float | None) -> bool:
    """Whether there is a p-value, and it is small; p is the corrected one."""
    return p is not None and p < SIGNIFICANT


def significance_text(p: float | None) -> str:
    """`significant`, `not significant`, or that it could not be tested; p is the corrected one."""
    if p is None or math.isnan(p):
        return f"not tested ({TOO_FEW})"
    return "significant" if is_significant(p) else "not significant"


def yes_or_no(p: float | None) -> str:
    """Whether it is significant, in a table."""
    return NOTHING if p is None or math.isnan(p) else "yes" if is_significant(p) else "no"


def p_text(p: float | None, queries: int | None = None) -> str:
    """A p-value for people; without one, that there are too few queries, where that is why."""
    if p is None or math.isnan(p):
        return TOO_FEW if queries is not None and queries < FEWEST_QUERIES else NOTHING
    return "<0.0001" if p < 0.0001 else f"{p:.4f}"
