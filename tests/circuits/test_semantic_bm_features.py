"""SemanticBM's samples and features, against readings one at a time and plain loops."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.checkpoints import save
from tests.circuits.tiny_search import every_document, tiny_collection
from whyrank.circuits.head import Head
from whyrank.circuits.reading import Reading
from whyrank.circuits.semantic_bm import samples as samples_module
from whyrank.circuits.semantic_bm.features import NESTED, Columns, features
from whyrank.circuits.semantic_bm.idf_dimension import IdfDimension
from whyrank.circuits.semantic_bm.matching import read_matching
from whyrank.circuits.semantic_bm.samples import candidates, check_queries, read_samples
from whyrank.collections.idf import token_idf
from whyrank.core.errors import UserError
from whyrank.rankers.load import load

HEAD = "AutoModelForSequenceClassification"
HEADS = [Head(0, 3), Head(2, 1)]
PAIRS = [
    ("red cat", "a dog sat on the mat in berlin the cat runs"),
    ("how many people live in berlin", "the cat"),
    ("tree", " ".join(["house tree dog"] * 30)),
    ("slow house", "red house on a tree runs fast"),
]


@pytest.fixture(scope="module", params=["bert", "roberta", "modernbert"])
def ranker(request, tmp_path_factory):
    return load(str(save(tmp_path_factory.mktemp("tiny"), request.param, HEAD)), kind="cross-encoder")


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    return load(str(save(tmp_path_factory.mktemp("bert"), "bert", HEAD)), kind="cross-encoder")


@pytest.fixture(scope="module")
def samples(bert):
    collection = tiny_collection()
    return read_samples(bert, candidates(collection, every_document(collection, 6), 6))


def test_a_padded_batch_reads_what_single_readings_do_and_scores_as_the_ranker_does(ranker):
    found = read_matching(ranker, PAIRS, scored=True)
    for (query, text), one, score in zip(PAIRS, found, ranker.score(PAIRS), strict=True):
        reading = Reading.of(ranker, query, text)
        alone = reading.matching().flatten(0, 1).T
        assert one.ids.tolist() == reading.query_ids
        assert np.allclose(one.document, alone, atol=1e-5)
        last = reading.matching([len(reading.tokens) - 1]).flatten(0, 1).T
        assert np.allclose(one.separator, last, atol=1e-5) and one.separator.max() > 0
        assert one.score == pytest.approx(float(score), abs=1e-5)
    assert [one.cut for one in found] == [False, False, True, False]


def test_fewer_layers_read_the_same_and_give_the_same_scores(bert):
    whole, few = (read_matching(bert, PAIRS, layers=layers, scored=True) for layers in (None, 2))
    for one, other in zip(whole, few, strict=True):
        assert other.document.shape[1] == 2 * 4 and np.allclose(one.document[:, :8], other.document, atol=1e-6)
        assert one.score == pytest.approx(other.score, abs=1e-5)
    assert np.isnan(read_matching(bert, PAIRS[:1], layers=1)[0].score)


def test_a_real_cross_encoder_in_a_batch(real):
    ranker = real("ce-minilm-l12")
    texts = [
        "Berlin had a population of 3,520,031 registered inhabitants.",
        "New York City is famous for its museums.",
    ]
    pairs = [("How many people live in Berlin?", text * times) for times, text in zip((1, 5), texts, strict=True)]
    found = read_matching(ranker, pairs, scored=True)
    assert np.allclose([one.score for one in found], ranker.score(pairs), atol=1e-5)
    for (query, text), one in zip(pairs, found, strict=True):
        assert np.allclose(one.document, Reading.of(ranker, query, text).matching().flatten(0, 1).T, atol=1e-5)


def test_features_are_those_of_the_definition(bert, samples):
    """f = -U0, MS_k, f MS_k for each query token, by loops over readings."""
    collection = tiny_collection()
    u0 = IdfDimension.of(bert, token_idf(bert.pieces.tokenizer, "collection", collection))
    left = torch.linalg.svd(bert.encoder.word_embeddings.detach().double(), full_matrices=False).U[:, 0].numpy()
    assert np.allclose(np.abs(left), np.abs(u0.u0), atol=1e-9)
    for sep in (False, True):
        columns = Columns(samples, u0.rarity(samples.ids), bert.encoder.heads, sep)
        shared = columns.shared(HEADS)
        for i, pair in list(enumerate(samples.pairs))[::7]:
            reading = Reading.of(bert, pair.query, pair.text)
            places = [*reading.document, len(reading.tokens) - 1] if sep else reading.document
            row, expected = [], np.zeros(5)
            for token, place in zip(reading.query_ids, reading.query, strict=True):
                f = -u0.u0[token]
                ms = [float(sum(reading.attention[h.layer, h.head, place, j] for j in places)) for h in HEADS]
                row += [f, *ms, *(f * one for one in ms)]
                expected += [f, *ms, *(f * one for one in ms)]
            assert np.allclose(shared[i], expected, atol=1e-5)
            assert np.allclose(columns.by_position(np.array([i]), HEADS)[0], row, atol=1e-5)


def test_nested_models_take_columns_of_the_whole(samples):
    columns = Columns(samples, np.linspace(-1, 1, len(samples.ids)), 4)
    whole = columns.shared(HEADS)
    assert np.array_equal(columns.shared(HEADS, NESTED["u0_only"]), whole[:, :1])
    assert np.array_equal(columns.shared(HEADS, NESTED["matching_only"]), whole[:, 1:3])
    assert np.array_equal(columns.shared(HEADS, NESTED["no_interaction"]), whole[:, :3])
    assert list(map(str, features(HEADS))) == [
        "u0", "matching L0.H3", "matching L2.H1", "interaction L0.H3", "interaction L2.H1",
    ]  # fmt: skip
    assert str(features(HEADS, length=3)[5 + 1]) == "1: matching L0.H3" and len(features(HEADS, length=3)) == 15


def test_columns_by_position_sum_to_the_shared_ones(samples):
    columns = Columns(samples, np.linspace(-1, 1, len(samples.ids)), 4)
    rows = np.flatnonzero(samples.lengths == 3)
    assert len(rows) > 0
    wide = columns.by_position(rows, HEADS).reshape(len(rows), 3, -1)
    assert np.allclose(wide.sum(axis=1), columns.shared(HEADS)[rows])


def test_u0_falls_with_idf_whatever_sign_the_svd_gives(bert):
    idf = token_idf(bert.pieces.tokenizer, "collection", tiny_collection())
    u0 = IdfDimension.of(bert, idf)
    known = np.isfinite(idf.bm25) & idf.whole
    assert np.corrcoef(u0.u0[: len(idf.bm25)][known], idf.bm25[known])[0, 1] == pytest.approx(u0.r.value)
    assert u0.r.value < 0 and u0.r.pairs == known.sum()
    assert np.allclose(IdfDimension.again(bert, u0.anchor).u0, u0.u0, atol=1e-12)
    turned = replace(u0.anchor, value=-u0.anchor.value)
    assert np.allclose(IdfDimension.again(bert, turned).u0, -u0.u0, atol=1e-12)


def test_samples_go_on_where_a_kill_left_them_and_damaged_shards_are_made_again(bert, tmp_path, monkeypatch):
    monkeypatch.setattr(samples_module, "PAIRS_PER_SHARD", 20)
    collection = tiny_collection()
    pairs = candidates(collection, every_document(collection, 6), 6)
    whole = read_samples(bert, pairs, tmp_path)
    first, second, *rest = sorted(tmp_path.glob("*.shard"))
    assert len(rest) == 3 and {path.name for path in tmp_path.iterdir()} == {f"{i:05d}.shard" for i in range(5)}
    kept = first.stat().st_mtime_ns
    second.write_bytes(second.read_bytes()[:100])
    rest[0].unlink()
    calls, seen = [], []
    read = samples_module.read_matching
    monkeypatch.setattr(samples_module, "read_matching", lambda *a, **k: calls.append(a[1]) or read(*a, **k))
    again = read_samples(bert, pairs, tmp_path, seen.append)
    assert len(calls) == 2 and first.stat().st_mtime_ns == kept and sum(seen) == len(pairs)
    for name in ("scores", "lengths", "ids", "document", "separator"):
        assert np.array_equal(getattr(whole, name), getattr(again, name))
    calls.clear()
    read_samples(bert, pairs[1:], tmp_path)
    assert len(calls) == 5, "shards of other pairs are not taken"


def test_what_samples_refuse(bert):
    collection = tiny_collection()
    stage = every_document(collection, 2)
    with pytest.raises(UserError, match="1 queries that the collection lacks, such as 'x'"):
        candidates(collection, {**stage, "x": stage["q00"]}, 2)
    (one, *_) = candidates(collection, stage, 2)
    with pytest.raises(UserError, match="'q00' has no token"):
        check_queries(bert, [samples_module.Candidate(one.qid, one.docno, " \t", one.text)])
    assert len(candidates(collection, stage, 1)) == len(collection.queries)
