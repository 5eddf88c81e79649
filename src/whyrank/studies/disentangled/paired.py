"""Two groups of models measured on the same things: means, and differences that are not chance.

A thing (a minimal pair, a reading) has a value under each seed of a group, averaged first; things of one query are
drawn together, and a test is over the queries' means.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

import numpy as np

from whyrank.evaluation.bootstrap import clustered_intervals
from whyrank.evaluation.significance import holm, randomisation_test
from whyrank.learning.tables import plain

#: Fewer queries have no p: with five, all of one sign, it could not be below 2 / 2^5 = 0.06.
FEWEST_QUERIES = 6
#: Name -> the values of the same things, in the same order.
Groups = Mapping[str, Sequence[float]]


def means(groups: Groups, clusters: Sequence[str], seed: int = 0) -> dict[str, dict[str, Any]]:
    """Each group's mean with its interval."""
    values = np.array([list(one) for one in groups.values()]).T
    found = clustered_intervals(values, clusters, seed=seed)
    return {
        name: plain({"value": float(column.mean()), **interval._asdict()})
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
    few = len(queries) < FEWEST_QUERIES
    p = math.nan if few else randomisation_test(queries, [0.0] * len(queries), seed=seed).p
    return {
        "difference": float(gaps.mean()),
        **interval._asdict(),
        "p": p,
        "queries": len(queries),
        "n": len(gaps),
    }


def with_holm(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The rows, each with its p corrected over all of them; null where a number is not defined."""
    adjusted = holm([row["p"] for row in rows])
    numbers = ("difference", "low", "high", "p", "p_holm")
    found = [{**row, "p_holm": p} for row, p in zip(rows, adjusted, strict=True)]
    return [{**row, **plain({key: row[key] for key in numbers})} for row in found]
