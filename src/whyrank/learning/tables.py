"""Rows and differences of a table of trained rankers: means with intervals over queries, and what is not chance.

A query is the unit: its values under several seeds are averaged for a mean or a paired test, and drawn together
by the bootstrap.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

import numpy as np

from whyrank.evaluation.bootstrap import clustered_intervals
from whyrank.evaluation.estimate import p_over_queries, row_text
from whyrank.evaluation.significance import holm
from whyrank.learning.material import Values

#: Row -> the values of each of its seeds; a row that has no seeds has one.
BySeed = Mapping[str, Sequence[Values]]


def table_row(name: str, measure: str, seeds: Sequence[Values], seed: int = 0) -> dict[str, Any]:
    """A mean over queries and seeds, its interval, and the means of the seeds."""
    by_seed = [values[measure] for values in seeds]
    values = np.array([[value] for one in by_seed for value in one.values()])
    (interval,) = clustered_intervals(values, [qid for one in by_seed for qid in one], seed=seed)
    bounded = interval.within(0, 1) if ((values >= 0) & (values <= 1)).all() else interval
    return {
        "name": name, "measure": measure, "mean": float(values.mean()), **bounded.to_json(),
        "by_seed": [fmean(one.values()) for one in by_seed], "queries": len(by_seed[0]),
    }  # fmt: skip


def differences(
    family: str, pairs: Sequence[tuple[str, str]], rows: BySeed, measures: Sequence[str], seed: int = 0
) -> list[dict[str, Any]]:
    """Paired differences over the same queries, Holm-corrected over the family."""
    tests = [(a, b, measure) for a, b in pairs for measure in measures]
    found = [(_by_query(rows[a], measure), _by_query(rows[b], measure)) for a, b, measure in tests]
    p_values = [p_over_queries(_gaps(x, y)) for x, y in found]
    told: list[dict[str, Any]] = []
    for (a, b, measure), (x, y), p, adjusted in zip(tests, found, p_values, holm(p_values), strict=True):
        gaps = np.array(_gaps(x, y))
        (interval,) = clustered_intervals(gaps[:, None], list(x), seed=seed)
        row = {"difference": float(gaps.mean()), **interval.to_json(), **plain({"p": p, "p_holm": adjusted})}
        told.append({"family": family, "of": a, "against": b, "measure": measure, **row, "queries": len(x)})
    return told


def plain(row: Mapping[str, float]) -> dict[str, float | None]:
    """What is not a number is nothing, as JSON has it."""
    return {key: value if math.isfinite(value) else None for key, value in row.items()}


def _by_query(seeds: Sequence[Values], measure: str) -> dict[str, float]:
    """A query's mean over the seeds."""
    return {qid: fmean(values[measure][qid] for values in seeds) for qid in seeds[0][measure]}


def _gaps(x: Mapping[str, float], y: Mapping[str, float]) -> list[float]:
    """x - y of each query."""
    assert x.keys() == y.keys(), "a paired test is over the same queries"
    return [x[qid] - y[qid] for qid in x]


Row = Mapping[str, Any]


def by_measure(rows: Sequence[Row]) -> tuple[list[str], dict[str, list[Row]]]:
    """The measures, and for each name its row of every measure, both in the order in which they come."""
    measures = list(dict.fromkeys(row["measure"] for row in rows))
    found = {(row["name"], row["measure"]): row for row in rows}
    names = dict.fromkeys(row["name"] for row in rows)
    return measures, {name: [found[name, measure] for measure in measures] for name in names}


def mean_text(row: Row) -> str:
    """`0.7768 [0.7109, 0.8438]`."""
    return row_text(row, "mean", ".4f")
