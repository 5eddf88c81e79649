"""Splits, groups and measures of SemanticBM, against scipy and ir_measures."""

import ir_measures
import numpy as np
import pytest
from scipy import stats

from whyrank.circuits.semantic_bm.agreement import HeldOut, rank_correlation
from whyrank.circuits.semantic_bm.protocol import (
    Protocol,
    default_protocol,
    paper_protocol,
    require_queries,
    split_by_pair,
    split_by_query,
)
from whyrank.core.errors import UserError

QIDS = np.array([f"q{i % 25:02d}" for i in range(500)])


def test_a_split_by_query_has_no_query_on_both_sides():
    test = split_by_query(QIDS, np.random.default_rng(0))
    assert len(set(QIDS[test])) == 5 and not set(QIDS[test]) & set(QIDS[~test])
    assert np.array_equal(test, split_by_query(QIDS, np.random.default_rng(0)))
    assert not np.array_equal(test, split_by_query(QIDS, np.random.default_rng(1)))
    fewest = split_by_query(np.array([f"q{i}" for i in range(10)]), np.random.default_rng(0))
    assert fewest.sum() == 2


def test_a_split_by_pair_is_a_fifth_of_the_pairs_whatever_their_query():
    test = split_by_pair(QIDS, np.random.default_rng(0))
    assert test.sum() == 100 and set(QIDS[test]) & set(QIDS[~test])


def test_too_few_queries_say_how_many_are_needed():
    with pytest.raises(UserError, match=r"small: 9 queries .* too few .* at least 10 are needed"):
        require_queries(9, where="small")
    require_queries(10)
    with pytest.raises(UserError, match="at least 10"):
        default_protocol().groups(QIDS[:9], np.ones(9, dtype=int), seed=0)


def test_the_papers_protocol_has_a_group_for_each_query_length_with_more_than_so_many_samples():
    lengths = np.repeat([3, 4, 5], [200, 201, 99])
    groups = paper_protocol(least=200).groups(QIDS, lengths, seed=0)
    assert [group.length for group in groups] == [4]
    assert np.array_equal(groups[0].rows, np.arange(200, 401)) and groups[0].test.sum() == 40
    assert paper_protocol().sep and paper_protocol().split == "pair" and paper_protocol().least == 500
    both = paper_protocol(least=100).groups(QIDS, lengths, seed=0)
    assert [group.length for group in both] == [3, 4]
    for group in both:
        assert sorted([*group.trained, *group.tested]) == group.rows.tolist()


def test_the_default_protocol_is_one_group_of_all_without_the_separator():
    (group,) = default_protocol().groups(QIDS, np.repeat([3, 4], 250), seed=0)
    assert group.length is None and len(group.rows) == 500 and not default_protocol().sep
    by_query = Protocol("x", by_position=True, split="query").groups(QIDS, np.repeat([3, 4], 250), seed=0)
    assert [group.length for group in by_query] == [3, 4]


@pytest.fixture
def held_out():
    generator = np.random.default_rng(2)
    qids = np.repeat(["q1", "q2", "q3", "q4", "q5", "q6", "short"], [6, 9, 7, 8, 9, 5, 2])
    docnos = np.array([f"d{i}" for i in range(len(qids))])
    qrels = {qid: {d: int(generator.integers(0, 3)) for d in docnos[::2]} for qid in ("q1", "q2", "q4", "other")}
    return HeldOut(qids, docnos, generator.normal(size=len(qids)), qrels)


def test_spearman_is_scipys_within_each_query(held_out):
    predictions = np.round(held_out.scores + np.random.default_rng(0).normal(size=len(held_out.scores)), 0)
    expected = [
        stats.spearmanr(predictions[held_out.qids == qid], held_out.scores[held_out.qids == qid]).statistic
        for qid in ("q1", "q2", "q3", "q4", "q5", "q6")
    ]
    found = held_out.spearman(predictions)
    assert found.mean.queries == 6 and found.mean.value == pytest.approx(np.mean(expected))
    assert found.median == pytest.approx(np.median(expected)) and found.sd == pytest.approx(
        np.std(expected, ddof=1)
    )
    assert found.mean.low <= found.mean.value <= found.mean.high


def test_spearman_of_what_does_not_differ_within_a_query_is_not_defined(held_out):
    found = held_out.spearman(np.array([hash(qid) % 7 for qid in held_out.qids], dtype=float))
    assert found.mean.queries == 0 and found.mean.value is None
    assert np.isnan(rank_correlation(np.array([1.0, 2]), np.array([1.0, 2])))


def test_ndcg_is_ir_measures_on_the_judged_queries_of_the_test_part(held_out):
    predictions = np.random.default_rng(0).normal(size=len(held_out.scores))
    run = {
        qid: dict(zip(held_out.docnos[mine], predictions[mine].tolist(), strict=True))
        for qid in ("q1", "q2", "q4")
        for mine in [held_out.qids == qid]
    }
    judged = {qid: held_out.qrels[qid] for qid in run}
    expected = ir_measures.calc_aggregate([ir_measures.nDCG @ 10], judged, run)[ir_measures.nDCG @ 10]
    found = held_out.ndcg(predictions)
    assert found.mean.queries == 3 and found.mean.value == pytest.approx(expected)
    assert HeldOut(held_out.qids, held_out.docnos, held_out.scores, {}).ndcg(predictions) is None


def test_pearson_is_pooled_and_differences_are_paired(held_out):
    noise = np.random.default_rng(0).normal(size=(2, len(held_out.scores)))
    predictions = {
        "semantic_bm": held_out.scores + 0.3 * noise[0],
        "same": 5 * (held_out.scores + 0.3 * noise[0]) - 2,
        "worse": held_out.scores + 3 * noise[1],
        "constant": np.full(len(held_out.scores), 0.1),
    }
    found = held_out.pearson(predictions, "semantic_bm")
    for name in ("semantic_bm", "worse"):
        assert found[name][0].value == pytest.approx(stats.pearsonr(predictions[name], held_out.scores).statistic)
    (own, none), (_, same), (worse, less), (constant, nothing) = found.values()
    assert none is None and own.queries == 7
    assert (same.value, same.low, same.high) == pytest.approx((0, 0, 0), abs=1e-9)
    assert less.value == pytest.approx(own.value - worse.value)
    assert less.low > 0
    assert constant.value is None and nothing.value is None
