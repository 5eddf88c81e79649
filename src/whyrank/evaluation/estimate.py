"""A value with its 95% interval over queries; how it is written; and when there is a p-value."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from whyrank.evaluation.bootstrap import clustered_intervals
from whyrank.evaluation.interval import FEWEST_QUERIES, NOT_DEFINED, TOO_FEW, Interval
from whyrank.evaluation.significance import Significance, paired_t_test

if TYPE_CHECKING:
    import numpy as np

#: Below this a corrected p-value is significant.
SIGNIFICANT = 0.05
#: Where there is no number.
NOTHING = "–"


@dataclass(frozen=True)
class Estimate:
    """A value from so many `pairs` (rows) of so many `queries`. Without an interval its ends are NaN, and
    `reason` says why."""

    value: float
    low: float
    high: float
    pairs: int
    queries: int
    reason: str | None = None

    @classmethod
    def of(cls, value: float, interval: Interval, pairs: int, queries: int) -> Estimate:
        return cls(value, interval.low, interval.high, pairs, queries, interval.reason)

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
            return cls.of(math.nan, Interval.none(NOT_DEFINED), 0, 0)
        shares = (0,) if share else ()
        (interval,) = clustered_intervals(column[:, None], queries, shares=shares, seed=seed)
        interval = interval.within(*within) if within else interval
        return cls.of(float(column.mean()), interval, len(column), len(set(queries)))

    @property
    def interval(self) -> Interval:
        return Interval(self.low, self.high, self.reason)

    def text(self, form: str = ".3f") -> str:
        """`0.777 [0.711, 0.844]`, `0.777 (too few queries)`"""
        return estimate_text(self.value, self.interval, form)

    def to_json(self) -> dict[str, Any]:
        value = self.value if math.isfinite(self.value) else None
        return {"value": value, **self.interval.to_json(), "n": self.pairs, "queries": self.queries}


def estimate_text(value: float | None, interval: Interval, form: str = ".3f") -> str:
    """`0.777 [0.711, 0.844]`; `0.777 (too few queries)` without an interval, `–` without a value. A sign in `form`
    is the value's only."""
    if value is None or not math.isfinite(value):
        return NOTHING
    if not interval:
        return f"{value:{form}} ({interval.reason})"
    plain = form.lstrip("+")
    return f"{value:{form}} [{interval.low:{plain}}, {interval.high:{plain}}]"


def row_text(row: Mapping[str, Any], value: str = "value", form: str = ".3f", ends: str | None = None) -> str:
    """The same of a row as JSON has it: the value under its name; `low` and `high` beside it, or under `ends`."""
    return estimate_text(row[value], Interval.from_json(row[ends] if ends else row), form)


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
