"""The random order against all orders there are, and against ir_measures on each."""

from itertools import permutations
from statistics import fmean

import pytest

from whyrank.collections.records import Retrieved
from whyrank.learning.measured import Candidates
from whyrank.studies.disentangled.reference_orders import in_random_order

#: Grades of the candidates of three queries, of different numbers; one has a relevant document that was not found.
GRADES = {"a": [0, 2, 1, 0, 3], "b": [1, 0, 0], "c": [0, 0]}
MEASURES = ["P@2", "nDCG@3"]


def test_a_random_order_is_the_mean_over_all_orders():
    qrels = {qid: {f"{qid}{i}": grade for i, grade in enumerate(grades)} for qid, grades in GRADES.items()}
    qrels["b"]["unfound"] = 2
    rows = [
        Retrieved(qid, f"{qid}{i}", i + 1, -i, "first")
        for qid, grades in GRADES.items()
        for i in range(len(grades))
    ]
    found = in_random_order(Candidates(rows, [], qrels), MEASURES)
    for qid, grades in GRADES.items():
        own = Candidates([row for row in rows if row.qid == qid], [], {qid: qrels[qid]})
        orders = [own.values(order, MEASURES) for order in permutations(range(len(grades)))]
        for measure in MEASURES:
            assert found[measure][qid] == pytest.approx(fmean(one[measure][qid] for one in orders))
    assert found["P@2"]["a"] == pytest.approx(3 / 5) and found["nDCG@3"]["c"] == 0
