"""A mean with its 95% interval over queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from whyrank.evaluation.bootstrap import clustered_intervals
from whyrank.interventions.statistics import finite


@dataclass(frozen=True)
class Estimate:
    """The mean of `n` values; the interval redraws whole queries, and is NaN where there is a single one."""

    value: float
    low: float
    high: float
    n: int
    queries: int

    @classmethod
    def mean(cls, values: Sequence[float] | np.ndarray, queries: Sequence[str], seed: int = 0) -> Estimate:
        column = np.asarray(values, dtype=float)
        if not len(column):
            return cls(np.nan, np.nan, np.nan, 0, 0)
        (interval,) = clustered_intervals(column[:, None], queries, seed=seed)
        return cls(float(column.mean()), interval.low, interval.high, len(column), len(set(queries)))

    def to_json(self) -> dict[str, Any]:
        return {key: finite(value) if isinstance(value, float) else value for key, value in vars(self).items()}
