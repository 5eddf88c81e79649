"""Means and differences of trained rankers, with intervals over queries.

A query is the unit: its values under several seeds are averaged for a mean or a paired test, and drawn together
by the bootstrap.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from whyrank.evaluation.bootstrap import clustered_intervals
from whyrank.evaluation.estimate import SIGNIFICANT, Comparison, Estimate, finite, p_over_queries, p_text
from whyrank.evaluation.significance import holm
from whyrank.learning.material import Values

#: Row -> the values of each of its seeds; a row that has no seeds has one.
BySeed = Mapping[str, Sequence[Values]]


@dataclass(frozen=True)
class Mean:
    """One ranker's mean of a measure over the test queries, the seeds of a query averaged first."""

    name: str
    measure: str
    mean: Estimate
    by_seed: tuple[float, ...] = ()

    @classmethod
    def of(cls, name: str, measure: str, seeds: Sequence[Values], seed: int = 0) -> Mean:
        """From the values of each seed; `seed` is the bootstrap's."""
        by_seed = [values[measure] for values in seeds]
        values = np.array([[value] for one in by_seed for value in one.values()])
        (interval,) = clustered_intervals(values, [qid for one in by_seed for qid in one], seed=seed)
        bounded = interval.within(0, 1) if ((values >= 0) & (values <= 1)).all() else interval
        mean = Estimate.of(float(values.mean()), bounded, len(values), len(by_seed[0]))
        return cls(name, measure, mean, tuple(fmean(one.values()) for one in by_seed))

    def text(self) -> str:
        """`0.7768 [0.7109, 0.8438]`"""
        return self.mean.text(".4f")


@dataclass(frozen=True)
class Difference:
    """`of` less `against` over the same queries; p corrected over the `family` of comparisons."""

    family: str
    of: str
    against: str
    measure: str
    comparison: Comparison

    @property
    def pair(self) -> str:
        return f"{self.of} - {self.against}"

    @property
    def value(self) -> str:
        """`+0.0444 [-0.0161, 0.1037]`"""
        return self.comparison.difference.text("+.4f")

    def text(self) -> str:
        """`nDCG@20 +0.0444 [-0.0161, 0.1037], p 0.2415, not significant`"""
        p = self.comparison.p_holm
        shown = self.comparison.text("+.4f")
        return f"{self.measure} {shown}" if p is None else f"{self.measure} {shown} (p {p_text(p)})"


#: What `significant` means in the tables.
TESTED = f"p: Student's t over the test queries, Holm-corrected; significant below {SIGNIFICANT}."


def compare(
    family: str, pairs: Sequence[tuple[str, str]], rows: BySeed, measures: Sequence[str], seed: int = 0
) -> tuple[Difference, ...]:
    """Paired differences over the same queries, Holm-corrected over the family."""
    tests = [(a, b, measure) for a, b in pairs for measure in measures]
    gaps = [_gaps(_by_query(rows[a], measure), _by_query(rows[b], measure)) for a, b, measure in tests]
    p_values = [p_over_queries(list(one.values())) for one in gaps]
    return tuple(
        Difference(family, *test, Comparison(_mean_gap(one, seed), finite(p), finite(adjusted)))
        for test, one, p, adjusted in zip(tests, gaps, p_values, holm(p_values), strict=True)
    )


def by_measure(rows: Sequence[Mean]) -> tuple[list[str], dict[str, list[Mean]]]:
    """The measures, and for each name its row of every measure, both in the order in which they come."""
    measures = list(dict.fromkeys(row.measure for row in rows))
    found = {(row.name, row.measure): row for row in rows}
    names = dict.fromkeys(row.name for row in rows)
    return measures, {name: [found[name, measure] for measure in measures] for name in names}


def _mean_gap(gaps: Mapping[str, float], seed: int) -> Estimate:
    values = np.array(list(gaps.values()))
    (interval,) = clustered_intervals(values[:, None], list(gaps), seed=seed)
    return Estimate.of(float(values.mean()), interval, len(values), len(values))


def _by_query(seeds: Sequence[Values], measure: str) -> dict[str, float]:
    """A query's mean over the seeds."""
    return {qid: fmean(values[measure][qid] for values in seeds) for qid in seeds[0][measure]}


def _gaps(x: Mapping[str, float], y: Mapping[str, float]) -> dict[str, float]:
    """x - y of each query."""
    assert x.keys() == y.keys(), "a paired test is over the same queries"
    return {qid: x[qid] - y[qid] for qid in x}
