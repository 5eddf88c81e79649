"""What a re-ranker has that knows nothing, and one that knows all: candidates in random order, and in the best."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from whyrank.learning.material import Material
from whyrank.learning.measured import Candidates, Values
from whyrank.studies.disentangled.variants import BEST, RANDOM


def reference_orders(material: Material, qids: Sequence[str], measures: Sequence[str]) -> dict[str, Values]:
    """The measures of the candidates in random order, as expected, and in the order of their grades, which no
    re-ranking exceeds."""
    candidates = Candidates.of(material, qids)
    best = candidates.values(candidates.grades(), measures)
    return {RANDOM: in_random_order(candidates, measures), BEST: best}


def in_random_order(candidates: Candidates, measures: Sequence[str]) -> Values:
    """The mean over all rotations of each query's candidates. Each stands in each place once, so for measures that
    add up over places, as P and nDCG do, this is the mean over all orders."""
    places, counts = [], Counter[str]()
    for row in candidates.rows:
        places.append(counts[row.qid])
        counts[row.qid] += 1
    found: dict[str, dict[str, list[float]]] = {}
    for turn in range(max(counts.values(), default=0)):
        turned = zip(places, candidates.rows, strict=True)
        scores = [-float((place + turn) % counts[row.qid]) for place, row in turned]
        for measure, values in candidates.values(scores, measures).items():
            for qid, value in values.items():
                found.setdefault(measure, {}).setdefault(qid, []).append(value)
    return {
        measure: {qid: _mean(values, counts[qid]) for qid, values in one.items()} for measure, one in found.items()
    }


def _mean(values: Sequence[float], turns: int) -> float:
    """Of a query's own rotations; others have more candidates, and turned on."""
    return sum(values[:turns]) / max(turns, 1)
