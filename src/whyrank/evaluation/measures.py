"""Measures of a ranking against judgements, by ir_measures and so by trec_eval's own code where it has one.

Conventions, all trec_eval's (with its option -c):

- only scores order a run, ranks do not, and documents with equal scores come in descending order of their docno;
- a query that is judged but not retrieved counts as 0;
- a query that is retrieved but not judged is dropped (`unjudged` counts them);
- documents that are not judged are not relevant.
"""

from __future__ import annotations

import math
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from whyrank.collections import Qrels, Retrieved
from whyrank.core.errors import UserError, nearest

#: Scores by query, then by document; or retrieved documents by query, as a collection's first stage has them.
AnyRun = Mapping[str, Sequence[Retrieved]] | Mapping[str, Mapping[str, float]]
#: What to suggest to someone who writes a measure that is not known.
USUAL = (
    "nDCG@10",
    "RR@10",
    "AP",
    "P@10",
    "R@100",
    "Bpref",
    "Judged@10",
    "Success@10",
    "nDCG(dcg='exp-log2')@10",
)
#: The largest parameter of a measure, and the highest grade that 2^grade - 1 is a gain for.
LARGEST, HIGHEST_EXPONENT = 10**6, 50


class Value(NamedTuple):
    """The value of a measure for a query."""

    qid: str
    measure: str
    value: float


def parse_measures(names: Iterable[str]) -> list[Any]:
    """ir_measures' measures by their names, such as `nDCG@10`; each prints as its name again."""
    return [_parse(name) for name in names]


def per_query(run: AnyRun, qrels: Qrels, measures: Iterable[str]) -> list[Value]:
    """The value of each measure for each judged query, measure by measure, queries in the order of `qrels`."""
    parsed = parse_measures(measures)
    scores = scores_by_query(run)
    if not scores.keys() & qrels.keys():
        raise UserError("no query of this run is judged", todo="do run and judgements have the same query ids?")
    found = _calculate(parsed, qrels, scores)
    names = dict.fromkeys(map(str, parsed))
    lost = [(name, qid) for name in names for qid in qrels if scores.get(qid) and (name, qid) not in found]
    assert not lost, f"no value for {lost[:3]}"
    return [Value(qid, name, float(found.get((name, qid), 0.0))) for name in names for qid in qrels]


def mean(values: Iterable[Value]) -> dict[str, float]:
    """The mean of each measure over the queries."""
    by_measure: dict[str, list[float]] = {}
    for _, measure, value in values:
        by_measure.setdefault(measure, []).append(value)
    return {measure: math.fsum(column) / len(column) for measure, column in by_measure.items()}


def unjudged(run: AnyRun, qrels: Qrels) -> list[str]:
    """The queries of a run that no judgement is for, which evaluation drops."""
    return [qid for qid in run if qid not in qrels]


def scores_by_query(run: AnyRun) -> dict[str, dict[str, float]]:
    """A run as scores by query and document; a document that comes twice or a score that is NaN is refused."""
    return {qid: _scores(qid, found) for qid, found in run.items()}


def _calculate(
    measures: list[Any], qrels: Qrels, scores: dict[str, dict[str, float]]
) -> dict[tuple[str, str], float]:
    """Values by measure and query, for queries that are both judged and retrieved.

    Queries go to ir_measures by number: gdeval, which it runs for ERR, takes the query 2024-105741 for 105741.
    """
    import ir_measures

    qids = {str(number): qid for number, qid in enumerate(qrels, start=1) if qid in scores}
    judged = {number: qrels[qid] for number, qid in qids.items()}
    retrieved = {number: _ordered(scores[qid]) for number, qid in qids.items()}
    found: dict[tuple[str, str], float] = {}
    for measure in measures:  # one at a time: ir_measures mixes up two nDCGs that differ only in their gains
        try:
            values = list(ir_measures.iter_calc([_with_trec_eval(measure, qrels)], judged, retrieved))
        except (OSError, subprocess.CalledProcessError) as error:
            todo = f"try {', '.join(USUAL)}"
            raise UserError(f"ir_measures could not compute {measure}", todo=todo) from error
        found.update({(str(measure), qids[row.query_id]): row.value for row in values})
    return found


def _ordered(scores: dict[str, float]) -> dict[str, float]:
    """The documents in trec_eval's order, as distinct scores, so that every provider has the same order.

    trec_eval compares scores as 32-bit numbers and orders equal ones by descending docno.
    """
    import numpy as np

    order = sorted(scores, key=lambda docno: (np.float32(scores[docno]), docno))
    return {docno: float(place) for place, docno in enumerate(order)}


def _scores(qid: str, found: Sequence[Retrieved] | Mapping[str, float]) -> dict[str, float]:
    pairs = list(found.items()) if isinstance(found, Mapping) else [(row.docno, row.score) for row in found]
    scores = {docno: float(score) for docno, score in pairs}
    if len(scores) < len(pairs):
        raise UserError(f"query {qid!r} retrieves a document twice", todo="keep one of them")
    for docno, score in scores.items():
        if math.isnan(score):
            raise UserError(f"the score of document {docno!r} for query {qid!r} is NaN", todo="NaN has no rank")
    return scores


def _parse(name: str) -> Any:
    import ir_measures

    try:
        measure = ir_measures.parse_measure(name)
        measure.validate_params()
    except (NameError, ValueError, AssertionError, TypeError) as error:
        head = name.split("@")[0].split("(")[0]
        known = head in ir_measures.measures.registry
        why = f" ({error})" if known and not isinstance(error, AssertionError) else ""
        todo = f"write it like {', '.join(USUAL)}" if known else nearest(name, USUAL)
        raise UserError(f"no measure {name!r}{why}", todo=todo) from error
    if not ir_measures.DefaultPipeline.supports(measure) or not _countable(measure):
        raise UserError(f"the measure {name!r} cannot be computed here", todo=f"try {', '.join(USUAL)}")
    return measure


def _countable(measure: Any) -> bool:
    """Whether its cutoff, grades and the like are numbers that trec_eval can count with."""
    numbers = [value for value in measure.params.values() if isinstance(value, int | float)]
    return measure.params.get("cutoff", 1) >= 1 and all(abs(number) <= LARGEST for number in numbers)


def _with_trec_eval(measure: Any, qrels: Qrels) -> Any:
    """nDCG with exponential gain as trec_eval's nDCG with gains 2^grade - 1.

    ir_measures would run gdeval for it, a Perl script that rounds to five digits.
    """
    import ir_measures

    if measure.NAME != "nDCG" or measure.params.get("dcg") != "exp-log2":
        return measure
    grades = {grade for judged in qrels.values() for grade in judged.values()}
    if max(grades, default=0) > HIGHEST_EXPONENT:
        todo = f"a gain of 2^grade needs grades up to {HIGHEST_EXPONENT}"
        raise UserError(f"{measure} with a grade of {max(grades)}", todo=todo)
    others = {key: value for key, value in measure.params.items() if key != "dcg"}
    return ir_measures.nDCG(**others, gains={grade: 2**grade - 1 for grade in grades if grade > 0})
