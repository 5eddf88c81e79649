"""What an epoch learns from: every positive that has a text, and negatives that are never positive."""

from collections import Counter

import pytest

from tests.learning.small import COLLECTION, DOCUMENTS, FIRST, QRELS, QUERIES
from whyrank.collections.collection import Collection
from whyrank.collections.records import Retrieved
from whyrank.core.errors import UserError
from whyrank.learning.finetuning.jobs import FineTuneSettings
from whyrank.learning.finetuning.pointwise import PairsToLearn, PositivesAndPool
from whyrank.learning.material import Material

MATERIAL = Material.of(COLLECTION, FIRST)


def test_negatives_are_candidates_and_never_positives():
    pairs = PairsToLearn.of(MATERIAL, QUERIES, negatives=3)
    candidates = {qid: {row.docno for row in rows} for qid, rows in FIRST.items()}
    for seed in range(3):
        for epoch in range(1, 30):
            for qid, docno, label in pairs.epoch(seed, epoch):
                assert label == float(QRELS[qid].get(docno, 0) >= 1)
                assert label or docno in candidates[qid]


def test_every_epoch_has_each_positive_once_with_its_own_distinct_negatives():
    pairs = PairsToLearn.of(MATERIAL, ["q0", "q1"], negatives=3)
    examples = pairs.epoch(0, 1)
    assert len(examples) == len(pairs) == 2 * 2 * (1 + 3) and pairs.positives == 4
    positives = [(qid, docno) for qid, docno, label in examples if label]
    assert sorted(positives) == [("q0", "d0-0"), ("q0", "d0-1"), ("q1", "d1-0"), ("q1", "d1-1")]
    counts = Counter((qid, docno) for qid, docno, label in examples if not label)
    assert max(counts.values()) <= 2, "a document is drawn at most once for each of the two positives"


def test_negatives_are_drawn_anew_each_epoch_by_seed_epoch_and_query_alone():
    pairs = PairsToLearn.of(MATERIAL, QUERIES)
    assert pairs.epoch(0, 1) == pairs.epoch(0, 1)
    assert sorted(pairs.epoch(0, 1)) != sorted(pairs.epoch(0, 2))
    assert sorted(pairs.epoch(0, 1)) != sorted(pairs.epoch(1, 1))
    alone = PairsToLearn.of(MATERIAL, ["q3"]).epoch(0, 1)
    assert sorted(alone) == sorted(example for example in pairs.epoch(0, 1) if example.qid == "q3")


def test_all_unjudged_candidates_are_drawn_in_the_end():
    pairs = PairsToLearn.of(MATERIAL, ["q0"])
    drawn = {docno for epoch in range(50) for _, docno, label in pairs.epoch(0, epoch) if not label}
    assert drawn == {row.docno for row in FIRST["q0"]} - {"d0-0", "d0-1"}
    assert drawn - QRELS["q0"].keys(), "some of them nobody judged"


def test_a_query_with_few_negatives_gets_those_it_has():
    pairs = PairsToLearn((PositivesAndPool("q", ("a", "b"), ("x",)), PositivesAndPool("r", ("c",), ())), 3)
    assert len(pairs) == 5 == len(pairs.epoch(0, 1))
    assert pairs.steps(2) == 3 == len(pairs.batches(0, 1, 2))


def test_negatives_of_the_whole_collection_are_any_document_that_is_not_positive():
    every = Material.of(COLLECTION, FIRST, k=2, every_text=True)
    assert every.texts == DOCUMENTS
    pairs = PairsToLearn.of(every, ["q0"], negatives=3, documents=tuple(every.texts))
    examples = [example for epoch in range(300) for example in pairs.epoch(0, epoch)]
    assert len(examples) == 300 * len(pairs) == 300 * 2 * (1 + 3)
    counts = Counter(docno for _, docno, label in examples if not label)
    assert counts.keys() == DOCUMENTS.keys() - set(every.positives["q0"])
    mean = 300 * 2 * 3 / len(counts)
    assert all(abs(count - mean) < 5 * mean**0.5 for count in counts.values()), "each as often as any other"


def test_a_pool_that_is_smaller_than_what_is_asked_for_is_taken_whole():
    pairs = PairsToLearn((PositivesAndPool("q", ("a", "b"), ("b", "x", "a", "y"), shared=2),), negatives=3)
    examples = pairs.epoch(0, 1)
    assert len(examples) == len(pairs) == 2 * (1 + 2)
    assert {docno for _, docno, label in examples if not label} == {"x", "y"}


def test_some_positives_per_query_are_drawn_anew_each_epoch():
    pairs = PairsToLearn.of(MATERIAL, QUERIES, negatives=2, most=1)
    seen = set()
    for epoch in range(1, 20):
        examples = pairs.epoch(0, epoch)
        assert len(examples) == len(pairs) and examples == pairs.epoch(0, epoch)
        positives = [(qid, docno) for qid, docno, label in examples if label]
        assert len({qid for qid, _ in positives}) == len(positives) == len(QUERIES)
        seen |= set(positives)
    assert len(seen) == pairs.positives, "in the end all are learned from"


def test_an_unknown_source_of_negatives_is_refused():
    with pytest.raises(UserError, match=r"negatives cannot be drawn from 'corpus'.*candidates or collection"):
        FineTuneSettings(negatives_from="corpus")


def test_what_is_positive_is_told_by_the_grade():
    assert MATERIAL.positives["q0"] == ("d0-0", "d0-1")
    assert Material.of(COLLECTION, FIRST, positive=2).positives["q0"] == ("d0-0",)
    assert "d0-1" in Material.of(COLLECTION, FIRST, positive=2).negatives("q0")


def test_what_cannot_be_learned_from_is_left_out_and_counted():
    qrels = {"q0": {"d0-0": 1, "elsewhere": 1}, "q1": {"d1-0": 0}, "q2": {"elsewhere": 2}, "q3": {"d3-0": 1}}
    collection = Collection.from_records("odd", DOCUMENTS, QUERIES, qrels)
    first = {qid: [Retrieved(qid, "d5-0", 1, 1.0, "x"), Retrieved(qid, "d6-0", 2, 0.5, "x")] for qid in QUERIES}
    material = Material.of(collection, {**first, "q3": []}, k=1)
    assert list(material.queries) == ["q0"]
    assert material.positives == {"q0": ("d0-0",)}
    assert (material.missing_documents, material.dropped_queries) == (1, 3)
    assert material.texts == {"d5-0": DOCUMENTS["d5-0"], "d0-0": DOCUMENTS["d0-0"]}, (
        "k candidates and the positives"
    )


def test_a_collection_without_judgements_is_refused():
    with pytest.raises(UserError, match="no judgements"):
        Material.of(Collection.from_records("bare", DOCUMENTS, QUERIES), FIRST)


def test_only_the_first_queries_are_kept_when_asked():
    assert list(Material.of(COLLECTION, FIRST, most=3).queries) == ["q0", "q1", "q2"]
