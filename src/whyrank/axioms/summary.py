"""From the rows of an audit to what it says: shares, differences, curves over k, and why pairs violate."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from whyrank.evaluation.bootstrap import Interval, clustered_intervals
from whyrank.evaluation.curves import Fit, fit_curves
from whyrank.evaluation.significance import holm, paired_t_test

if TYPE_CHECKING:
    import numpy as np

    from whyrank.axioms.audit import Row

OUTCOMES = ("holds", "neutral", "violates")
#: What violating and adhering pairs are compared by; numbers of a row.
FEATURES = ("idf", "length", "tf", "rank", "k", "position")
#: Fewer pairs than this on either side say nothing.
FEWEST = 5


class Point(NamedTuple):
    """The pairs of one k: mean difference and the share that violates, with intervals."""

    k: int
    n: int
    difference: float
    interval: Interval
    violates: float
    violates_interval: Interval


class Contrast(NamedTuple):
    """A feature in violating against adhering pairs: medians, Cliff's delta (-1 to 1), p (Mann-Whitney, Holm)."""

    feature: str
    violating: float
    adhering: float
    cliffs_delta: float
    p: float


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
    concave: float | None = None
    why: tuple[Contrast, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return _plain(asdict(self))


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
    found = clustered_intervals(columns, _clusters(rows), seed=seed)
    means = columns.mean(axis=0)
    curve = _curve(rows, seed) if axiom.startswith("TFC2") else ()
    ks = [point.k for point in curve]
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
        fits=tuple(fit_curves(ks, [point.difference for point in curve])) if len(ks) > 2 else (),
        violation_fits=tuple(fit_curves(ks, [point.violates for point in curve])) if len(ks) > 2 else (),
        concave=_concave(rows) if axiom == "TFC2:marginal" else None,
        why=_why(rows),
    )


def _columns(rows: Sequence[Row]) -> np.ndarray:
    """[n, 4]: an indicator for each outcome, and the difference."""
    import numpy as np

    return np.array([[*(float(row.outcome == outcome) for outcome in OUTCOMES), row.difference] for row in rows])


def _clusters(rows: Sequence[Row]) -> list[str]:
    """Queries; a pair that names none is its own cluster."""
    return [row.qid if row.qid is not None else f"pair {row.pair}" for row in rows]


def _p_value(rows: Sequence[Row]) -> float:
    """Student's t of the queries' mean differences against 0."""
    by_query: dict[str, list[float]] = {}
    for row, cluster in zip(rows, _clusters(rows), strict=True):
        by_query.setdefault(cluster, []).append(row.difference)
    means = [statistics.fmean(values) for values in by_query.values()]
    return paired_t_test(means, [0.0] * len(means)).p


def _curve(rows: Sequence[Row], seed: int) -> tuple[Point, ...]:
    points = []
    for k in sorted({row.k for row in rows if row.k is not None}):
        mine = [row for row in rows if row.k == k]
        columns = _columns(mine)
        found, means = clustered_intervals(columns, _clusters(mine), seed=seed), columns.mean(axis=0)
        points.append(Point(k, len(mine), float(means[3]), found[3], float(means[2]), found[2]))
    return tuple(points)


def _concave(rows: Sequence[Row]) -> float | None:
    """The share of steps from k to k + 1 in which the marginal gain falls: what TFC2 itself asks for."""
    gains = {(row.qid, row.docid, row.k): row.difference for row in rows if row.k is not None}
    steps = [(gain, gains[q, d, k + 1]) for (q, d, k), gain in gains.items() if (q, d, k + 1) in gains]
    return statistics.fmean(float(now > then) for now, then in steps) if steps else None


def _why(rows: Sequence[Row]) -> tuple[Contrast, ...]:
    """Each feature that both kinds of pairs have, the largest effect first."""
    found = []
    for feature in FEATURES:
        sides = {
            outcome: [
                value for row in rows if row.outcome == outcome and (value := _feature(row, feature)) is not None
            ]
            for outcome in ("violates", "holds")
        }
        if min(map(len, sides.values())) >= FEWEST and len({*sides["violates"], *sides["holds"]}) > 1:
            found.append(_contrast(feature, sides["violates"], sides["holds"]))
    adjusted = holm([contrast.p for contrast in found])
    corrected = [contrast._replace(p=p) for contrast, p in zip(found, adjusted, strict=True)]
    return tuple(sorted(corrected, key=lambda contrast: -abs(contrast.cliffs_delta)))


def _feature(row: Row, feature: str) -> float | None:
    """A row's value; `position` is 0 at the start, 1 at the end, between them inside the text."""
    if feature == "position":
        return {"start": 0.0, "sentence boundary": 0.5, "word boundary": 0.5, "end": 1.0}.get(row.where or "")
    value = getattr(row, feature)
    return None if value is None else float(value)


def _contrast(feature: str, violating: list[float], adhering: list[float]) -> Contrast:
    """Cliff's delta = P(violating > adhering) - P(violating < adhering) = 2 U / (n m) - 1."""
    from scipy.stats import mannwhitneyu

    u, p = mannwhitneyu(violating, adhering, alternative="two-sided")
    delta = 2 * float(u) / (len(violating) * len(adhering)) - 1
    return Contrast(feature, statistics.median(violating), statistics.median(adhering), delta, float(p))


def _plain(value: Any) -> Any:
    """Tuples with names as dictionaries, and null for what is not a finite number."""
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
