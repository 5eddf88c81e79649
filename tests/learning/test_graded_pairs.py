"""Pairs by grade: which are made, that seed and epoch alone decide, and that batches mix queries."""

from collections import Counter
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.learning.small import COLLECTION, FIRST, QRELS
from whyrank.learning.graded_pairs import GradedPairs, GradedQuery, in_parts
from whyrank.learning.material import Material

MATERIAL = Material.of(COLLECTION, FIRST)
QIDS = list(QRELS)
#: A relevant document of each query.
FIRST_POSITIVE = {qid: MATERIAL.positives[qid][0] for qid in QIDS}


def grade(qid, docno):
    return QRELS[qid].get(docno, 0)


def test_a_worse_document_has_a_lower_grade_and_what_nobody_judged_counts_as_0():
    pairs, seen = GradedPairs.of(MATERIAL, QIDS, negatives=3), set()
    for epoch in range(20):
        for pair in pairs.epoch(0, epoch):
            assert grade(pair.qid, pair.better) > grade(pair.qid, pair.worse)
            assert grade(pair.qid, pair.better) >= 1
            seen.add((grade(pair.qid, pair.better), grade(pair.qid, pair.worse), pair.worse in QRELS[pair.qid]))
    assert {(2, 1, True), (2, 0, True), (1, 0, True), (2, 0, False), (1, 0, False)} == seen


def test_every_positive_of_a_query_is_learned_from_once_a_negative():
    pairs = GradedPairs.of(MATERIAL, QIDS, negatives=2).epoch(0, 1)
    assert Counter((pair.qid, pair.better) for pair in pairs) == {
        (qid, docno): 2 for qid in QIDS for docno, mine in QRELS[qid].items() if mine > 0
    }
    assert len(set(pairs)) == len(pairs), "negatives of a positive are different"


def test_relevant_documents_that_the_first_stage_did_not_find_are_learned_from_only_if_asked_for():
    found = {qid: [row for row in FIRST[qid] if row.docno != docno] for qid, docno in FIRST_POSITIVE.items()}
    fewer = replace(MATERIAL, candidates=found)
    everything = {(qid, docno) for qid in QIDS for docno in MATERIAL.positives[qid]}
    for unfound, expected in ((True, everything), (False, everything - set(FIRST_POSITIVE.items()))):
        pairs = GradedPairs.of(fewer, QIDS, unfound=unfound).epoch(0, 1)
        assert {(pair.qid, pair.better) for pair in pairs} == expected
        assert all(grade(pair.qid, pair.better) > grade(pair.qid, pair.worse) for pair in pairs)
    assert not any(pair.worse == FIRST_POSITIVE[pair.qid] for pair in pairs), "nor are they worse ones then"


def test_of_many_positives_some_are_drawn_each_epoch():
    pairs = GradedPairs.of(MATERIAL, QIDS, positives=1)
    assert len(pairs) == len(QIDS)
    drawn = [{pair.qid: pair.better for pair in pairs.epoch(0, epoch)} for epoch in range(8)]
    assert all(one.keys() == set(QIDS) for one in drawn)
    assert len({one["q0"] for one in drawn}) == 2


def test_a_positive_without_a_worse_document_offers_nothing():
    grades = {"q0": {row.docno: 1 for row in FIRST["q0"]}}
    all_good = Material("x", {"q0": "cat"}, grades, {"q0": FIRST["q0"]}, {"q0": tuple(grades["q0"])}, {}, 0, 0)
    assert not GradedPairs.of(all_good, ["q0"]).queries


def test_seed_and_epoch_alone_decide():
    pairs = GradedPairs.of(MATERIAL, QIDS)
    again = GradedPairs.of(MATERIAL, QIDS)
    assert pairs.epoch(3, 2) == again.epoch(3, 2)
    assert pairs.epoch(3, 2) != pairs.epoch(3, 1) != pairs.epoch(4, 1)
    some = GradedPairs.of(MATERIAL, QIDS[:5])
    assert [pair for pair in pairs.epoch(3, 2) if pair.qid in QIDS[:5]] == some.epoch(3, 2)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 40), min_size=2, max_size=8), st.integers(2, 16), st.integers(0, 5))
def test_batches_hold_each_pair_once_and_mix_queries(counts, batch, seed):
    queries = tuple(
        GradedQuery(f"q{i}", tuple((f"d{j}", 1) for j in range(count)), ("w",)) for i, count in enumerate(counts)
    )
    pairs = GradedPairs(queries)
    batches = pairs.batches(seed, 1, batch)
    assert len(pairs) == sum(counts) and len(batches) == pairs.steps(batch)
    assert sorted(pair for one in batches for pair in one) == sorted(pairs.epoch(seed, 1))
    sizes = list(map(len, batches))
    assert max(sizes) <= batch and max(sizes) - min(sizes) <= 1
    largest = max(counts) / sum(counts)
    for one in batches:
        if len(one) * (1 - largest) >= 2:  # the others have room for two pairs or more in any such stretch
            assert len({pair.qid for pair in one}) > 1


def test_parts_are_in_order_and_of_like_sizes():
    assert in_parts(range(7), 3) == [[0, 1], [2, 3], [4, 5, 6]]
    assert in_parts([1, 2], 4) == [[1], [2]]


def test_worse_documents_are_held_once_a_query_however_many_are_better():
    """172 queries of 200 relevant documents held 32 MB of references."""
    docnos = [f"d{i}" for i in range(300)]
    grades = {"q0": {docno: 3 - i // 100 for i, docno in enumerate(docnos)}}
    many = Material("x", {"q0": "cat"}, grades, {"q0": []}, {"q0": tuple(docnos)}, {}, 0, 0)
    (query,) = GradedPairs.of(many, ["q0"]).queries
    assert len(query.others) == 300 and dict(query.better) == {f"d{i}": 200 - i // 100 * 100 for i in range(200)}


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(st.integers(1, 6), min_size=1, max_size=6), min_size=1, max_size=6), st.integers(1, 9),
    st.integers(1, 4), st.integers(1, 3), st.one_of(st.none(), st.integers(1, 3)),
)  # fmt: skip
def test_no_part_is_smaller_than_the_smallest(worse, batch, parts, negatives, positives):
    queries = tuple(
        GradedQuery(f"q{i}", tuple((f"d{j}", count) for j, count in enumerate(counts)), tuple("uvwxyz"))
        for i, counts in enumerate(worse)
    )
    pairs = GradedPairs(queries, negatives, positives)
    least = pairs.smallest_part(batch, parts)
    for epoch in range(4):
        for step in pairs.batches(0, epoch, batch):
            assert all(len(part) >= least for part in in_parts(step, min(parts, len(step))))
    if positives is None:
        sizes = [len(p) for one in pairs.batches(0, 1, batch) for p in in_parts(one, min(parts, len(one)))]
        assert min(sizes) == least
