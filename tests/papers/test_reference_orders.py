"""The random order against all orders there are, and against ir_measures on each."""

from itertools import permutations
from statistics import fmean

import pytest

from whyrank.collections.records import Retrieved
from whyrank.learning.material import Candidates
from whyrank.papers.disentangled import collection_numbers
from whyrank.papers.disentangled.collection_numbers import in_random_order

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


def test_of_many_candidates_some_rotations_are_enough(monkeypatch):
    rows = [Retrieved("q", f"d{i}", i + 1, -i, "first") for i in range(400)]
    candidates = Candidates(rows, [], {"q": {f"d{i}": 1 for i in range(100)}})
    found = in_random_order(candidates, ["P@20"])["P@20"]["q"]
    assert found == pytest.approx(100 / 400, abs=0.05)
    monkeypatch.setattr(collection_numbers, "MOST_TURNS", 400)
    assert in_random_order(candidates, ["P@20"])["P@20"]["q"] == pytest.approx(100 / 400, abs=1e-12)


def test_measures_that_do_not_add_up_over_places_are_estimated_without_bias():
    """Rotations of the order they come in would have an AP of .605, not .5925, and an RR of .617, not .642."""
    grades, qids = [1, 1, 0, 0, 0], [f"q{i}" for i in range(200)]
    rows = [Retrieved(qid, f"d{i}", i + 1, -i, "first") for qid in qids for i in range(5)]
    qrels = {qid: {f"d{i}": grade for i, grade in enumerate(grades)} for qid in qids}
    found = in_random_order(Candidates(rows, [], qrels), ["AP", "RR"])
    own = Candidates(rows[:5], [], {"q0": qrels["q0"]})
    for measure in ("AP", "RR"):
        exact = fmean(own.values(order, [measure])[measure]["q0"] for order in permutations(range(5)))
        assert fmean(found[measure].values()) == pytest.approx(exact, abs=0.01)
