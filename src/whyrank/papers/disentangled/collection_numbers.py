"""Table 1: what the collection is like, and what a re-ranker has that knows nothing, or all.

Both orders of the candidates are no ranker's: a random one, as expected, and that of their grades, which no
re-ranking exceeds.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from statistics import fmean, median, pstdev

from whyrank.learning.judgements import Judged
from whyrank.learning.material import Candidates, Material, Values
from whyrank.learning.splits import Split
from whyrank.papers.disentangled.results import CollectionNumbers, Count
from whyrank.papers.disentangled.variants import BEST, RANDOM
from whyrank.text.words import words

#: Rotations of a query's candidates at the most.
MOST_TURNS = 200


def collection_numbers(
    what: Judged, material: Material, splits: Sequence[Split], depth: int, references: Mapping[str, Values]
) -> CollectionNumbers:
    """Counts, and means over documents or over the queries that are used; and the measures of the `references`,
    orders of the test queries' candidates."""
    used = list(dict.fromkeys(qid for split in splits for _, qids in split for qid in qids))
    tested = list(dict.fromkeys(qid for split in splits for qid in split.test))
    counts = {docno: len(words(text)) for docno, text in what.collection.documents()}
    rows = [
        _count("words per query", (len(words(material.queries[qid])) for qid in used)),
        _count("words per document", counts.values(), "documents"),
    ]
    for name, qids in (("all queries used", used), ("test queries", tested)):
        rows += _judgement_counts(material, qids, name, depth, counts)
    rows += [
        _count(f"{order} {measure}, test queries", values.values(), digits=4)
        for order, found in references.items()
        for measure, values in found.items()
    ]
    return CollectionNumbers(len(counts), len(used), len(tested), what.test is not None, tuple(rows))


def _judgement_counts(
    material: Material, qids: Sequence[str], name: str, depth: int, there: Container[str]
) -> list[Count]:
    return [
        _count(f"judged documents, {name}", (len(material.qrels[qid]) for qid in qids)),
        _count(f"relevant documents, {name}", (_relevant(material, qid) for qid in qids)),
        _count(f"relevant, but not in the collection, {name}", (_absent(material, qid, there) for qid in qids)),
        _count(f"judged in the first {depth}, {name}", (_judged(material, qid) for qid in qids)),
        _count(f"relevant in the first {depth}, {name}", (_reached(material, qid) for qid in qids)),
    ]


def _count(what: str, values: Iterable[float], of: str = "queries", digits: int = 1) -> Count:
    known = [float(value) for value in values]
    return Count(what, fmean(known), median(known), pstdev(known), len(known), of, digits)


def _relevant(material: Material, qid: str) -> int:
    """All that are judged relevant, also those that the collection lacks."""
    return sum(grade > 0 for grade in material.qrels[qid].values())


def _absent(material: Material, qid: str, there: Container[str]) -> int:
    return sum(grade > 0 and docno not in there for docno, grade in material.qrels[qid].items())


def _judged(material: Material, qid: str) -> int:
    return sum(row.docno in material.qrels[qid] for row in material.candidates[qid])


def _reached(material: Material, qid: str) -> int:
    return sum(material.grade(qid, row.docno) > 0 for row in material.candidates[qid])


def reference_orders(material: Material, qids: Sequence[str], measures: Sequence[str]) -> dict[str, Values]:
    """The measures of the candidates in random order, as expected, and in the order of their grades."""
    candidates = Candidates.of(material, qids)
    best = candidates.values(candidates.grades(), measures)
    return {RANDOM: in_random_order(candidates, measures), BEST: best}


def in_random_order(candidates: Candidates, measures: Sequence[str]) -> Values:
    """The mean over the rotations of each query's candidates, shuffled once: each rotation is an order drawn at
    random. Over all of them each candidate stands in each place once, so for measures that add up over places, as
    P and nDCG do, this is exactly the mean over all orders. For others, and where a query has more candidates than
    rotations, it is an estimate."""
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
