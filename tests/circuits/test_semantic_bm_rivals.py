"""The lexical rivals, against the BM25 index and plain counting."""

import math

import numpy as np
import pytest

from tests.circuits.tiny_search import every_document
from whyrank.circuits.head import Head
from whyrank.circuits.semantic_bm.models import DRAWS, draw_heads
from whyrank.circuits.semantic_bm.rivals import K1, B, Counts, lexical, tuned
from whyrank.circuits.semantic_bm.samples import Candidate, candidates
from whyrank.collections.bm25 import BM25Index
from whyrank.collections.catalogue import open_collection
from whyrank.text import Analyzer


@pytest.fixture(scope="module")
def demo():
    """The demo collection's first queries, one with a word twice, one with a word that no document holds."""
    collection = open_collection("demo")
    pairs = candidates(collection, every_document(collection, 7), 7)[:84]
    odd = [
        Candidate("x", pair.docno, query, pair.text)
        for pair in pairs[:9]
        for query in ("bread bread tap", "zyxwv tap")
    ]
    return collection, [*pairs, *odd]


@pytest.mark.parametrize(("k1", "b"), [(0.9, 0.4), (0.5, 0.9), (3.0, 0.0), (0.1, 1.0)])
def test_bm25_is_the_indexs_for_every_setting(demo, k1, b):
    collection, pairs = demo
    index = BM25Index(collection, k1=k1, b=b)
    found = Counts.of(pairs, collection.documents()).bm25(k1, b)
    assert np.allclose(found, [index.score(pair.query, pair.text) for pair in pairs], atol=1e-12)
    assert found.max() > 0


def test_tf_idf_and_query_likelihood_are_their_definitions(demo):
    collection, pairs = demo
    analyze, mu = Analyzer(), 300
    texts = [analyze(text) for _, text in collection.documents()]
    words = sum(map(len, texts))
    counts = Counts.of(pairs, collection.documents())
    assert (counts.documents, counts.words) == (len(texts), words)
    tf_idf, likelihood = counts.tf_idf(), counts.query_likelihood(mu)
    for i, pair in list(enumerate(pairs))[::3]:
        document, expected, ratio = analyze(pair.text), 0.0, 0.0
        for word in analyze(pair.query):
            tf, df = document.count(word), sum(word in text for text in texts)
            if tf:
                expected += (1 + math.log(tf)) * math.log(len(texts) / df)
            cf = sum(text.count(word) for text in texts)
            if cf:
                ratio += math.log((tf + mu * cf / words) / (len(document) + mu)) - math.log(cf / words)
        assert tf_idf[i] == pytest.approx(expected, abs=1e-9)
        assert likelihood[i] == pytest.approx(ratio, abs=1e-9)


def test_settings_are_chosen_on_the_training_rows_only(demo):
    collection, pairs = demo
    counts = Counts.of(pairs, collection.documents())
    scores = 3 * counts.bm25(1.7, 0.3) - 2
    train, test = np.arange(0, len(pairs), 2), np.arange(1, len(pairs), 2)
    scores[test] = np.random.default_rng(0).normal(size=len(test))
    column, chosen = lexical(counts)["bm25"](scores, train)
    assert chosen == {"k1": 1.7, "b": 0.3} and np.array_equal(column, counts.bm25(1.7, 0.3))
    best = max((np.corrcoef(counts.bm25(k1, b)[test], scores[test])[0, 1], k1, b) for k1 in K1 for b in B)
    assert lexical(counts)["bm25"](scores, test)[1] == {"k1": best[1], "b": best[2]}
    assert set(lexical(counts)) == {"bm25", "tf_idf", "query_likelihood"}


def test_a_constant_column_never_wins():
    def column(level):
        return np.full(6, level) if level < 2 else np.arange(6.0)

    assert tuned(column, {"level": [0, 1, 2]}, np.arange(6.0) ** 2, np.arange(6))[1] == {"level": 2}


def test_random_heads_are_drawn_outside_the_circuit():
    every = [Head(layer, head) for layer in range(4) for head in range(3)]
    taken = [Head(0, 0), Head(1, 2), Head(3, 1)]
    drawn = draw_heads(every, taken, 3, seed=0)
    assert len(drawn) == DRAWS and all(len(set(heads)) == 3 and not set(heads) & set(taken) for heads in drawn)
    assert len({tuple(heads) for heads in drawn}) > 5
    assert draw_heads(every, taken, 3, seed=0) == drawn != draw_heads(every, taken, 3, seed=1)
    assert {len(heads) for heads in draw_heads(every, every[:10], 3, seed=0)} == {2}, "all that are left"
    assert draw_heads(every, every, 3, seed=0) == []
