"""From the rows of an audit to what it says: shares, differences, curves over k, and why pairs violate."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, NamedTuple

from whyrank.evaluation.bootstrap import clustered_intervals
from whyrank.evaluation.cliffs_delta import cliffs_delta, delta_interval
from whyrank.evaluation.curves import Fit, fit_curves
from whyrank.evaluation.estimate import p_over_queries
from whyrank.evaluation.interval import Interval
from whyrank.evaluation.significance import holm

if TYPE_CHECKING:
    import numpy as np

    from whyrank.axioms.audit import Row

OUTCOMES = ("holds", "neutral", "violates")
#: What violating and adhering pairs are compared by; numbers of a row.
FEATURES = ("idf", "length", "tf", "rank", "k", "position")
#: Fewer pairs than this on either side say nothing.
FEWEST = 5
#: Which of the columns of numbers are shares: the outcomes, and whether the score does not rise.
SHARES = (0, 1, 2, 4)


class Point(NamedTuple):
    """The pairs of one k: the mean difference, and the share whose score does not rise at all, with intervals; and
    the share that falls by more than the neutral band."""

    k: int
    n: int
    difference: float
    interval: Interval
    not_rising: float
    not_rising_interval: Interval
    violates: float


class Contrast(NamedTuple):
    """A feature in violating against adhering pairs: medians, and Cliff's delta (-1 to 1) with its interval."""

    feature: str
    violating: float
    adhering: float
    cliffs_delta: float
    interval: Interval


@dataclass(frozen=True)
class AxiomSummary:
    """One ranker on one axiom. Differences are perturbed - baseline, in score units."""

    ranker: str
    axiom: str
    prefers: str
    n: int
    queries: int
    shares: dict[str, float]
    intervals: dict[str, Interval]
    mean: float
    mean_interval: Interval
    median: float
    p: float
    p_adjusted: float
    curve: tuple[Point, ...] = ()
    fits: tuple[Fit, ...] = ()
    violation_fits: tuple[Fit, ...] = ()
    flattens: float | None = None
    flattens_interval: Interval | None = None
    why: tuple[Contrast, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {field.name: _plain(getattr(self, field.name)) for field in fields(self)}


def summarise(rows: Sequence[Row], seed: int = 0) -> list[AxiomSummary]:
    """One summary a ranker and axiom; p-values adjusted over all of them (Holm)."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.ranker, row.label), []).append(row)
    p_values = [_p_value(group) for group in groups.values()]
    adjusted = holm(p_values)
    return [
        _summary(ranker, axiom, group, p, q, seed)
        for ((ranker, axiom), group), p, q in zip(groups.items(), p_values, adjusted, strict=True)
    ]


def _summary(ranker: str, axiom: str, rows: list[Row], p: float, adjusted: float, seed: int) -> AxiomSummary:
    columns = _columns(rows)
    found = clustered_intervals(columns, _clusters(rows), shares=SHARES, seed=seed)
    means = columns.mean(axis=0)
    curve = _curve(rows, seed) if axiom.startswith("TFC2") else ()
    ks = [point.k for point in curve]
    flattens = _flattens(rows, seed) if axiom.startswith("TFC2:marginal") else (None, None)
    return AxiomSummary(
        ranker=ranker,
        axiom=axiom,
        prefers=rows[0].prefer,
        n=len(rows),
        queries=len(set(_clusters(rows))),
        shares={outcome: float(means[i]) for i, outcome in enumerate(OUTCOMES)},
        intervals={outcome: found[i] for i, outcome in enumerate(OUTCOMES)},
        mean=float(means[3]),
        mean_interval=found[3],
        median=statistics.median(row.difference for row in rows),
        p=p,
        p_adjusted=adjusted,
        curve=curve,
        fits=_fits(ks, [point.difference for point in curve]),
        violation_fits=_fits(ks, [point.not_rising for point in curve]),
        flattens=flattens[0],
        flattens_interval=flattens[1],
        why=_why(rows, seed),
    )


def _fits(ks: list[int], values: list[float]) -> tuple[Fit, ...]:
    """The fits, best first; none for fewer than three points, or for points that do not vary."""
    return tuple(fit_curves(ks, values)) if len(ks) > 2 and max(values) > min(values) else ()


def _columns(rows: Sequence[Row]) -> np.ndarray:
    """[n, 5]: an indicator for each outcome, the difference, and whether the score does not rise."""
    import numpy as np

    told = [[*(float(row.outcome == outcome) for outcome in OUTCOMES), row.difference] for row in rows]
    return np.array([[*one, float(row.gain <= 0)] for one, row in zip(told, rows, strict=True)])


def _clusters(rows: Sequence[Row]) -> list[str]:
    """Queries, by their id or else by their text."""
    return [row.qid if row.qid is not None else f"text {row.query}" for row in rows]


def _p_value(rows: Sequence[Row]) -> float:
    """Student's t of the queries' mean gains (differences towards the preferred side) against 0; NaN where the
    queries are too few."""
    by_query: dict[str, list[float]] = {}
    for row, cluster in zip(rows, _clusters(rows), strict=True):
        by_query.setdefault(cluster, []).append(row.gain)
    return p_over_queries([statistics.fmean(values) for values in by_query.values()])


def _curve(rows: Sequence[Row], seed: int) -> tuple[Point, ...]:
    points = []
    for k in sorted({row.k for row in rows if row.k is not None}):
        mine = [row for row in rows if row.k == k]
        columns = _columns(mine)
        found = clustered_intervals(columns, _clusters(mine), shares=SHARES, seed=seed)
        means = columns.mean(axis=0)
        points.append(Point(k, len(mine), float(means[3]), found[3], float(means[4]), found[4], float(means[2])))
    return tuple(points)


def _flattens(rows: Sequence[Row], seed: int) -> tuple[float | None, Interval | None]:
    """The share of steps from k to k + 1 in which the marginal gain falls: what TFC2 itself asks for."""
    import numpy as np

    gains = {(_document(row), row.k): row for row in rows if row.k is not None}
    steps = [(row, gains[document, k + 1]) for (document, k), row in gains.items() if (document, k + 1) in gains]
    if not steps:
        return None, None
    falls = np.array([[float(now.difference > then.difference)] for now, then in steps])
    (interval,) = clustered_intervals(falls, _clusters([now for now, _ in steps]), shares=(0,), seed=seed)
    return float(falls.mean()), interval


def _document(row: Row) -> tuple[str, str]:
    """What tells one curve over k from another."""
    return (row.qid or row.query, row.docid or row.pair.removesuffix(f":{row.k}"))


def _why(rows: Sequence[Row], seed: int) -> tuple[Contrast, ...]:
    """Each feature that both kinds of pairs have, the largest effect first."""
    found = []
    for feature in FEATURES:
        mine = [row for row in rows if row.outcome != "neutral" and getattr(row, feature) is not None]
        violating = [float(getattr(row, feature)) for row in mine if row.outcome == "violates"]
        adhering = [float(getattr(row, feature)) for row in mine if row.outcome == "holds"]
        if min(len(violating), len(adhering)) >= FEWEST and len({*violating, *adhering}) > 1:
            medians = statistics.median(violating), statistics.median(adhering)
            interval = delta_interval(
                [float(getattr(row, feature)) for row in mine],
                [row.outcome == "violates" for row in mine],
                _clusters(mine),
                seed,
            )
            found.append(Contrast(feature, *medians, cliffs_delta(violating, adhering), interval))
    return tuple(sorted(found, key=lambda contrast: -abs(contrast.cliffs_delta)))


def _plain(value: Any) -> Any:
    """Tuples with names as dictionaries, intervals as they write themselves, and null for what is not a finite
    number."""
    if isinstance(value, Interval):
        return value.to_json()
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
