"""Two groups of models measured on the same things: means, and differences that are not chance.

A thing (a minimal pair, a reading) has a value under each seed of a group, averaged first; things of one query are
drawn together, and a test is over the queries' means.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

import numpy as np

from whyrank.evaluation.bootstrap import clustered_intervals
from whyrank.evaluation.estimate import p_over_queries
from whyrank.evaluation.significance import holm, randomisation_test
from whyrank.learning.tables import plain

#: Name -> the values of the same things, in the same order.
Groups = Mapping[str, Sequence[float]]


def means(
    groups: Groups, clusters: Sequence[str], seed: int = 0, *, share: bool = False
) -> dict[str, dict[str, Any]]:
    """Each group's mean with its interval; `share`: of values from 0 to 1 that say how often."""
    values = np.array([list(one) for one in groups.values()]).T
    shares = range(len(groups)) if share else ()
    found = clustered_intervals(values, clusters, shares=shares, seed=seed)
    return {
        name: {**plain({"value": float(column.mean())}), **interval.to_json()}
        for name, column, interval in zip(groups, values.T, found, strict=True)
    }


def difference(
    one: Sequence[float], other: Sequence[float], clusters: Sequence[str], seed: int = 0
) -> dict[str, Any]:
    """The mean of one - other with its interval, and p of Fisher's randomisation test over the queries' means,
    exact where they are few; NaN where they are too few for any finding."""
    gaps = np.array([[a - b] for a, b in zip(one, other, strict=True)])
    (interval,) = clustered_intervals(gaps, clusters, seed=seed)
    by_query: dict[str, list[float]] = {}
    for gap, cluster in zip(gaps[:, 0].tolist(), clusters, strict=True):
        by_query.setdefault(cluster, []).append(gap)
    queries = [fmean(values) for values in by_query.values()]
    p = p_over_queries(queries, randomisation_test, seed=seed)
    return {
        "difference": float(gaps.mean()),
        **interval.to_json(),
        "p": p,
        "queries": len(queries),
        "n": len(gaps),
    }


def with_holm(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The rows, each with its p corrected over all of them; null where a number is not defined."""
    adjusted = holm([row["p"] for row in rows])
    numbers = ("difference", "p", "p_holm")
    found = [{**row, "p_holm": p} for row, p in zip(rows, adjusted, strict=True)]
    return [{**row, **plain({key: row[key] for key in numbers})} for row in found]
