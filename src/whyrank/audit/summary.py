"""From the rows of an audit to its summaries: shares, differences, curves over k, and why pairs violate."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from whyrank.audit.results import OUTCOMES, AxiomSummary, Contrast, Point, Row, Violation
from whyrank.axioms.pair import MinimalPair
from whyrank.evaluation.bootstrap import clustered_intervals
from whyrank.evaluation.cliffs_delta import cliffs_delta, delta_interval
from whyrank.evaluation.curves import Fit, fit_curves
from whyrank.evaluation.estimate import Estimate, finite, p_over_queries
from whyrank.evaluation.significance import holm

if TYPE_CHECKING:
    import numpy as np

#: What violating and adhering pairs are compared by; numbers of a row.
FEATURES = ("idf", "length", "tf", "rank", "k", "position")
#: Fewer pairs than this on either side say nothing.
FEWEST = 5
#: Which of the columns of numbers are shares: the outcomes, and whether the score does not rise.
SHARES = (0, 1, 2, 4)
#: Violations shown of each ranker and axiom.
WORST = 10
#: By ranker and pair, the pair with the texts that were scored.
Texts = Mapping[str, Mapping[str, MinimalPair]]


def summarise(rows: Sequence[Row], texts: Texts | None = None, seed: int = 0) -> tuple[AxiomSummary, ...]:
    """One summary per ranker and axiom; p-values adjusted over all of them (Holm)."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.ranker, row.label), []).append(row)
    p_values = [_p_value(group) for group in groups.values()]
    return tuple(
        _summary(group, finite(p), finite(corrected), (texts or {}).get(group[0].ranker, {}), seed)
        for group, p, corrected in zip(groups.values(), p_values, holm(p_values), strict=True)
    )


def _summary(
    rows: list[Row], p: float | None, p_holm: float | None, pairs: Mapping[str, MinimalPair], seed: int
) -> AxiomSummary:
    axiom = rows[0].label
    holds, neutral, violates, mean, _ = _estimates(rows, seed)
    curve = _curve(rows, seed) if axiom.startswith("TFC2") else ()
    ks = [point.k for point in curve]
    return AxiomSummary(
        ranker=rows[0].ranker,
        axiom=axiom,
        prefers=rows[0].prefer,
        n=len(rows),
        queries=mean.queries,
        holds=holds,
        neutral=neutral,
        violates=violates,
        mean=mean,
        median=statistics.median(row.difference for row in rows),
        p=p,
        p_holm=p_holm,
        curve=curve,
        fits=_fits(ks, [point.difference.value or 0.0 for point in curve]),
        violation_fits=_fits(ks, [point.not_rising.value or 0.0 for point in curve]),
        gain_falls=_gain_falls(rows, seed) if axiom.startswith("TFC2:marginal") else None,
        why=_why(rows, seed),
        worst=_worst(rows, pairs),
    )


def _estimates(rows: Sequence[Row], seed: int) -> list[Estimate]:
    """The share of each outcome, the mean difference, and the share whose score does not rise."""
    columns, clusters = _columns(rows), [row.cluster for row in rows]
    found = clustered_intervals(columns, clusters, shares=SHARES, seed=seed)
    means, queries = columns.mean(axis=0), len(set(clusters))
    return [Estimate.of(float(mean), one, len(rows), queries) for mean, one in zip(means, found, strict=True)]


def _fits(ks: list[int], values: list[float]) -> tuple[Fit, ...]:
    """The fits, best first; none for fewer than three points, or for points that do not vary."""
    return tuple(fit_curves(ks, values)) if len(ks) > 2 and max(values) > min(values) else ()


def _columns(rows: Sequence[Row]) -> np.ndarray:
    """[n, 5]: an indicator for each outcome, the difference, and whether the score does not rise."""
    import numpy as np

    return np.array(
        [[*(float(row.outcome == one) for one in OUTCOMES), row.difference, float(row.gain <= 0)] for row in rows]
    )


def _p_value(rows: Sequence[Row]) -> float:
    """Student's t of the queries' mean gains (differences towards the preferred side) against 0; NaN where the
    queries are too few."""
    by_query: dict[str, list[float]] = {}
    for row in rows:
        by_query.setdefault(row.cluster, []).append(row.gain)
    return p_over_queries([statistics.fmean(values) for values in by_query.values()])


def _curve(rows: Sequence[Row], seed: int) -> tuple[Point, ...]:
    points = []
    for k in sorted({row.k for row in rows if row.k is not None}):
        _, _, violates, difference, not_rising = _estimates([row for row in rows if row.k == k], seed)
        points.append(Point(k, difference, not_rising, violates))
    return tuple(points)


def _gain_falls(rows: Sequence[Row], seed: int) -> Estimate | None:
    """The share of steps from k to k + 1 in which the marginal gain falls: what TFC2 itself asks for."""
    gains = {(_document(row), row.k): row for row in rows if row.k is not None}
    steps = [(row, gains[document, k + 1]) for (document, k), row in gains.items() if (document, k + 1) in gains]
    if not steps:
        return None
    falls = [float(now.difference > then.difference) for now, then in steps]
    return Estimate.mean(falls, [now.cluster for now, _ in steps], seed, share=True)


def _worst(rows: Sequence[Row], pairs: Mapping[str, MinimalPair]) -> tuple[Violation, ...]:
    """The strongest violations."""
    violating = sorted((row for row in rows if row.outcome == "violates"), key=lambda row: row.gain)[:WORST]
    return tuple(
        Violation(
            row.pair, row.query, row.baseline, row.perturbed, row.difference, row.baseline_text,
            row.perturbed_text, _spans(pairs.get(row.pair), "baseline"), _spans(pairs.get(row.pair), "perturbed"),
        )
        for row in violating
    )  # fmt: skip


def _spans(pair: MinimalPair | None, side: str) -> tuple[tuple[int, int], ...]:
    return tuple((pair.slot or {}).get(side) or ()) if pair is not None else ()


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
            found.append(_contrast(feature, mine, violating, adhering, seed))
    return tuple(sorted(found, key=lambda contrast: -abs(contrast.cliffs_delta.value or 0.0)))


def _contrast(
    feature: str, rows: Sequence[Row], violating: list[float], adhering: list[float], seed: int
) -> Contrast:
    clusters = [row.cluster for row in rows]
    interval = delta_interval(
        [float(getattr(row, feature)) for row in rows], [row.outcome == "violates" for row in rows], clusters, seed
    )
    delta = Estimate.of(cliffs_delta(violating, adhering), interval, len(rows), len(set(clusters)))
    return Contrast(feature, statistics.median(violating), statistics.median(adhering), delta)
