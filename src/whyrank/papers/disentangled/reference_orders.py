"""What a re-ranker has that knows nothing, and one that knows all: candidates in random order, and in the best."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence

from whyrank.learning.material import Candidates, Material, Values
from whyrank.papers.disentangled.variants import BEST, RANDOM

#: Rotations of a query's candidates at the most.
MOST_TURNS = 200


def reference_orders(material: Material, qids: Sequence[str], measures: Sequence[str]) -> dict[str, Values]:
    """The measures of the candidates in random order, as expected, and in the order of their grades, which no
    re-ranking exceeds."""
    candidates = Candidates.of(material, qids)
    best = candidates.values(candidates.grades(), measures)
    return {RANDOM: in_random_order(candidates, measures), BEST: best}


def in_random_order(candidates: Candidates, measures: Sequence[str]) -> Values:
    """The mean over the rotations of each query's candidates, shuffled once: each rotation is an order drawn at
    random. By all of them each candidate stands in each place once, so for measures that add up over places, as P
    and nDCG do, this is exactly the mean over all orders. For others, and where a query has more candidates than
    are turned, it is an estimate."""
    counts, draw = Counter(row.qid for row in candidates.rows), random.Random(0)
    shuffled = {qid: iter(draw.sample(range(count), count)) for qid, count in counts.items()}
    places = [next(shuffled[row.qid]) for row in candidates.rows]
    found: dict[str, dict[str, list[float]]] = {}
    for turn in range(min(MOST_TURNS, max(counts.values(), default=0))):
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
    own = values[:turns]
    return sum(own) / max(len(own), 1)
