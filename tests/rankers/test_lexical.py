"""BM25 as a ranker: the same numbers as the index, exact for texts that it has never seen."""

import math

import pytest

from whyrank.collections.bm25 import BM25Index
from whyrank.collections.collection import Collection
from whyrank.rankers.load import load

DOCUMENTS = {"a": "the red cat", "b": "the dog runs", "c": "a cat and a cat and a dog"}
COLLECTION = Collection.from_records("tiny", DOCUMENTS, {"1": "red cat"})


def test_scores_are_the_indexs_own():
    ranker, index = load("bm25", collection=COLLECTION), BM25Index(COLLECTION)
    scores = ranker.score([("red cat", text) for text in DOCUMENTS.values()])
    assert scores.tolist() == pytest.approx(index.scores("red cat").tolist(), abs=1e-9)


def test_a_text_that_is_not_in_the_collection_is_scored_by_hand_computed_bm25():
    ranker = load("bm25", collection=COLLECTION, k1=1.2, b=0.75)
    average = (3 + 3 + 8) / 3
    norm = 1.2 * (1 - 0.75 + 0.75 * 4 / average)
    idf = math.log(1 + (3 - 2 + 0.5) / (2 + 0.5))
    assert ranker.score([("cat", "cat cat is new")])[0] == pytest.approx(idf * 2 / (2 + norm))


def test_the_terms_shares_sum_to_the_score():
    ranker = load("bm25", collection=COLLECTION)
    terms = ranker.explain("red cat zebra", "a red cat and a red dog")
    assert [(term.term, term.tf) for term in terms] == [("red", 2), ("cat", 1), ("zebra", 0)]
    score = ranker.score([("red cat zebra", "a red cat and a red dog")])[0]
    assert sum(term.contribution for term in terms) == pytest.approx(score)


def test_the_fingerprint_follows_settings_and_collection():
    other = Collection.from_records("tiny", {**DOCUMENTS, "d": "new"}, {"1": "red cat"})
    prints = {load("bm25", collection=c, k1=k1).fingerprint() for c in (COLLECTION, other) for k1 in (0.9, 1.2)}
    assert len(prints) == 4
