"""Measures against trec_eval's own code and against sums done by hand."""

from __future__ import annotations

import math
import os
import random
import shutil
import subprocess
import sys

import pytest
import pytrec_eval

from whyrank.collections import Retrieved
from whyrank.core.errors import UserError
from whyrank.evaluation import mean, parse_measures, per_query, unjudged

#: Our names and trec_eval's.
TREC_EVAL = {
    "nDCG@10": "ndcg_cut_10",
    "AP": "map",
    "RR": "recip_rank",
    "P@5": "P_5",
    "R@10": "recall_10",
    "Bpref": "bpref",
}


def random_case(seed: int) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    """Graded judgements and a run over them in which many scores are equal."""
    draw = random.Random(seed)
    qids, docnos = [f"q{i}" for i in range(8)], [f"d{i}" for i in range(40)]
    qrels = {qid: {d: draw.randint(0, 3) for d in draw.sample(docnos, 15)} for qid in qids}
    run = {qid: {d: float(draw.randint(0, 9)) for d in draw.sample(docnos, 25)} for qid in qids}
    return qrels, run


@pytest.mark.parametrize("seed", range(5))
def test_values_are_trec_evals(seed: int) -> None:
    qrels, run = random_case(seed)
    oracle = pytrec_eval.RelevanceEvaluator(qrels, set(TREC_EVAL.values())).evaluate(run)
    for qid, measure, value in per_query(run, qrels, TREC_EVAL):
        assert value == pytest.approx(oracle[qid][TREC_EVAL[measure]], abs=1e-12)


def test_ndcg_is_the_one_computed_by_hand() -> None:
    qrels = {"q": {"a": 3, "b": 1, "c": 2}}
    run = {"q": {"b": 3.0, "x": 2.0, "a": 1.0}}
    found = 1 / math.log2(2) + 3 / math.log2(4)
    ideal = 3 / math.log2(2) + 2 / math.log2(3) + 1 / math.log2(4)
    assert per_query(run, qrels, ["nDCG@10"]) == [("q", "nDCG@10", pytest.approx(found / ideal))]


def test_ndcg_with_exponential_gain_is_the_one_computed_by_hand_and_keeps_its_name() -> None:
    qrels, run = {"topic-a": {"a": 3, "b": 1, "c": 2}}, {"topic-a": {"b": 3.0, "x": 2.0, "a": 1.0}}
    found = 1 / math.log2(2) + 7 / math.log2(4)
    ideal = 7 / math.log2(2) + 3 / math.log2(3) + 1 / math.log2(4)
    name = "nDCG(dcg='exp-log2')@10"
    assert per_query(run, qrels, [name]) == [("topic-a", name, pytest.approx(found / ideal))]


@pytest.mark.skipif(shutil.which("perl") is None, reason="ir_measures computes ERR by a Perl script")
def test_err_is_the_one_computed_by_hand_whatever_the_query_ids() -> None:
    qrels, run = (
        {"2024-7": {"a": 1, "b": 2}, "x": {"a": 1}},
        {"2024-7": {"a": 2.0, "b": 1.0}, "x": {"a": 1.0}},
    )
    first, second = 1 / 16, 3 / 16  # (2^grade - 1) / 2^4: gdeval's grades go up to 4
    expected = first + (1 - first) * second / 2
    values = [row.value for row in per_query(run, qrels, ["ERR@10"])]
    assert values == pytest.approx([expected, first], abs=1e-5)


def test_equal_scores_come_in_descending_order_of_docno_whatever_their_ranks() -> None:
    run = {"q": [Retrieved("q", "a", 1, 1.0, "t"), Retrieved("q", "b", 2, 1.0, "t")]}
    assert per_query(run, {"q": {"a": 1}}, ["RR"]) == [("q", "RR", 0.5)]


def test_a_judged_query_that_is_not_retrieved_counts_as_0_and_an_unjudged_one_is_left_out() -> None:
    qrels = {"q1": {"a": 1}, "q2": {"a": 1}, "q3": {"a": 1}}
    run = {"q1": {"a": 1.0}, "q3": {}, "q9": {"a": 1.0}}
    values = per_query(run, qrels, ["AP", "RR@10"])
    assert values[:3] == [("q1", "AP", 1.0), ("q2", "AP", 0.0), ("q3", "AP", 0.0)]
    assert mean(values) == {"AP": pytest.approx(1 / 3), "RR@10": pytest.approx(1 / 3)}
    assert unjudged(run, qrels) == ["q9"]


def test_a_measure_prints_as_it_is_parsed() -> None:
    names = ["nDCG@10", "AP", "P(rel=2)@5", "nDCG(dcg='exp-log2')@20"]
    assert [str(measure) for measure in parse_measures(names)] == names


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("nDCG10", "did you mean nDCG@10"),
        ("ndcg_cut_10", "no measure 'ndcg_cut_10'"),
        ("zzz", "known: AP"),
        ("P", "write it like"),
        ("P@0", "cannot be computed"),
        ("P(q=1)@3", "write it like"),
        ("nDCG@ten", "no measure"),
        ("", "no measure ''"),
        ("alpha_nDCG@5", "cannot be computed"),
    ],
)
def test_an_unknown_measure_is_told_what_is_known(name: str, what: str) -> None:
    with pytest.raises(UserError, match=what):
        parse_measures([name])


def test_a_run_and_judgements_without_a_common_query_are_refused() -> None:
    with pytest.raises(UserError, match="no query of this run is judged"):
        per_query({"1": {"a": 1.0}}, {"q1": {"a": 1}}, ["AP"])


def test_a_score_that_is_not_a_number_and_a_document_that_comes_twice_are_refused() -> None:
    with pytest.raises(UserError, match="'a' for query 'q' is NaN"):
        per_query({"q": {"a": math.nan}}, {"q": {"a": 1}}, ["AP"])
    with pytest.raises(UserError, match="a document twice"):
        per_query({"q": [Retrieved("q", "a", 1, 1.0, "t")] * 2}, {"q": {"a": 1}}, ["AP"])


@pytest.mark.parametrize("seed", ["0", "1", "2", "3"])
def test_two_gains_at_one_cutoff_do_not_mix(seed: str) -> None:
    """ir_measures' order depends on the hash seed; the numbers must not."""
    code = """
from itertools import permutations
from whyrank.evaluation.measures import mean, per_query
run, qrels = {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}, {"q": {"a": 1, "b": 3, "c": 0}}
names = ["nDCG@10", "nDCG(dcg='exp-log2')@10", "nDCG@5"]
alone = {name: mean(per_query(run, qrels, [name])) for name in names}
assert len({value for one in alone.values() for value in one.values()}) == 2
for order in permutations(names):
    together = mean(per_query(run, qrels, order))
    for one in alone.values():
        assert one.items() <= together.items(), (order, together, alone)
"""
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr


def test_every_measure_breaks_ties_as_trec_eval_does() -> None:
    run, qrels = {"q": {"a": 1.0, "b": 1.0 + 1e-9}}, {"q": {"a": 1}}
    found = {value.measure: value.value for value in per_query(run, qrels, ["RR", "RR@10", "P@1", "nDCG@10"])}
    assert found["RR"] == found["RR@10"] == 0.5
    assert found["P@1"] == 0
