"""Two groups of models measured on the same items: means, and differences that are tested.

An item (a minimal pair, a reading) has a value under each seed of a group, averaged first; items of one query are
drawn together, and a test is over the queries' means.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean

import numpy as np

from whyrank.evaluation.bootstrap import clustered_intervals
from whyrank.evaluation.estimate import Comparison, Estimate, finite, p_over_queries
from whyrank.evaluation.significance import holm, randomisation_test

#: Name -> the values of the same items, in the same order.
Groups = Mapping[str, Sequence[float]]


def means(groups: Groups, clusters: Sequence[str], seed: int = 0, *, share: bool = False) -> dict[str, Estimate]:
    """Each group's mean; `share`: of values from 0 to 1 that say how often."""
    values = np.array([list(one) for one in groups.values()]).T
    shares = range(len(groups)) if share else ()
    found = clustered_intervals(values, clusters, shares=shares, seed=seed)
    queries = len(set(clusters))
    return {
        name: Estimate.of(float(column.mean()), interval, len(clusters), queries)
        for name, column, interval in zip(groups, values.T, found, strict=True)
    }


def difference(one: Sequence[float], other: Sequence[float], clusters: Sequence[str], seed: int = 0) -> Comparison:
    """The mean of one - other, and p of Fisher's randomisation test over the queries' means, exact where they are
    few; no p where they are too few for any finding. It is not corrected yet."""
    gaps = np.array([[a - b] for a, b in zip(one, other, strict=True)])
    (interval,) = clustered_intervals(gaps, clusters, seed=seed)
    by_query: dict[str, list[float]] = {}
    for gap, cluster in zip(gaps[:, 0].tolist(), clusters, strict=True):
        by_query.setdefault(cluster, []).append(gap)
    queries = [fmean(values) for values in by_query.values()]
    p = p_over_queries(queries, randomisation_test, seed=seed)
    estimate = Estimate.of(float(gaps.mean()), interval, len(gaps), len(queries))
    return Comparison(estimate, finite(p), None)


def corrected(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """The comparisons, each with its p corrected over all of them (Holm)."""
    adjusted = holm([math.nan if one.p is None else one.p for one in comparisons])
    return [replace(one, p_holm=finite(p)) for one, p in zip(comparisons, adjusted, strict=True)]
