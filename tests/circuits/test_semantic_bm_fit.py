"""SemanticBM from end to end: a planted model is found, both protocols found, and the ranker says why."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.checkpoints import save
from tests.circuits.tiny_search import every_document, tiny_collection
from whyrank.circuits.head import Head
from whyrank.circuits.semantic_bm.features import Columns
from whyrank.circuits.semantic_bm.fit import Choices, fit
from whyrank.circuits.semantic_bm.idf_dimension import IdfDimension
from whyrank.circuits.semantic_bm.report import semantic_bm_page
from whyrank.circuits.semantic_bm.results import SEMANTIC_BM, SemanticBM
from whyrank.circuits.semantic_bm.samples import candidates, read_samples
from whyrank.collections.bm25 import first_stage
from whyrank.collections.catalogue import open_collection
from whyrank.collections.collection import Collection
from whyrank.collections.idf import token_idf
from whyrank.core.errors import UserError
from whyrank.rankers.load import load

HEADS = (Head(0, 3), Head(1, 1))
FILE = SemanticBM.FILE
SLOPES = np.array([3.0, -2.0, 0.5, 1.5, 4.0])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return save(tmp_path_factory.mktemp("tiny"), "bert", "AutoModelForSequenceClassification")


@pytest.fixture(scope="module")
def material(folder):
    ranker, collection = load(str(folder)), tiny_collection(queries=20)
    samples = read_samples(ranker, candidates(collection, every_document(collection, 10), 10))
    return (
        ranker,
        collection,
        samples,
        IdfDimension.of(ranker, token_idf(ranker.pieces.tokenizer, "collection", collection)),
    )


@pytest.fixture(scope="module")
def planted(material):
    """The same samples with scores that are a SemanticBM by themselves: 2 and the slopes above."""
    ranker, collection, samples, u0 = material
    columns = Columns(samples, u0.rarity(samples.ids), ranker.encoder.heads)
    made = replace(samples, scores=2 + columns.shared(HEADS) @ SLOPES)
    return fit(ranker, collection, made, u0, Choices(HEADS, least=30)), made


def models_of(protocol):
    return {model.name: model for model in protocol.models}


def test_a_planted_model_is_found_again(planted):
    result, _ = planted
    assert np.allclose([one.slope for one in result.model.coefficients], SLOPES, atol=1e-6)
    assert result.model.intercept == pytest.approx(2, abs=1e-6)
    default = models_of(result.default)
    assert default[SEMANTIC_BM].pearson.value == pytest.approx(1)
    assert default[SEMANTIC_BM].spearman.mean.value == pytest.approx(1)
    assert default[SEMANTIC_BM].columns == (5,) and default[SEMANTIC_BM].rank == (5,)
    for name in ("u0_only", "matching_only", "no_interaction", "bm25", "random_features"):
        assert default[name].pearson.value < 0.999, name
    assert default[SEMANTIC_BM].ndcg_share == pytest.approx(1)
    columns = result.model.coefficients
    assert [one.feature for one in columns][:3] == ["u0", "matching L0.H3", "matching L1.H1"]
    for one in (column.standardised for column in columns):
        if one.low is None:
            assert one.no_interval in ("too few queries", "no spread")
        else:
            assert one.low <= one.value + 1e-6 and one.high >= one.value - 1e-6


def test_predictions_are_a_row_a_sample_and_protocol_and_give_the_measures_again(planted):
    result, samples = planted
    frame = result.predictions
    mine = frame[frame["protocol"] == "default"]
    assert len(mine) == len(samples) and set(mine["split"]) == {"train", "test"}
    test = mine[mine["split"] == "test"]
    assert not set(test["qid"]) & set(mine[mine["split"] == "train"]["qid"])
    assert test.equals(result.test_part())
    for name, one in models_of(result.default).items():
        if one.pearson.value is not None:
            assert np.corrcoef(test["cross_encoder"], test[name])[0, 1] == pytest.approx(one.pearson.value)
    for i, one in enumerate(result.default.random_heads.draws):
        assert np.corrcoef(test["cross_encoder"], test[f"random_heads_{i}"])[0, 1] == pytest.approx(one.pearson)
        assert not {Head.parse(head) for head in one.heads} & set(HEADS)


def test_the_papers_protocol_has_a_model_for_each_query_length(planted):
    result, samples = planted
    paper = result.paper
    lengths = [group.query_tokens for group in paper.groups]
    sizes = {int(n): int((samples.lengths == n).sum()) for n in set(samples.lengths)}
    assert lengths == sorted(n for n, size in sizes.items() if size > 30) and lengths
    assert paper.samples + paper.dropped == len(samples)
    assert [one.query_tokens for one in result.paper_models] == lengths
    assert [len(one.coefficients) for one in result.paper_models] == [5 * n for n in lengths]
    assert models_of(paper)[SEMANTIC_BM].columns == tuple(5 * n for n in lengths)
    assert len(models_of(paper)["bm25"].chosen) == len(lengths)
    by_group = models_of(paper)[SEMANTIC_BM].by_group
    assert by_group.median == pytest.approx(np.median(by_group.values))
    assert len(result.choices) == 8
    default = next(one for one in result.choices if not one.by_position and not one.sep)
    assert default.split == "query" and default.pearson.value == pytest.approx(1)


def test_without_a_group_that_is_large_enough_there_is_only_our_protocol(material):
    result = fit(*material, Choices(HEADS))
    assert result.paper.models == () and result.paper.groups == () and result.paper.dropped == len(material[2])
    assert set(result.predictions["protocol"]) == {"default"}
    json.dumps(result.to_json(), allow_nan=False)


def test_without_judgements_and_large_groups_there_is_a_report_all_the_same(material, tmp_path):
    ranker, collection, samples, u0 = material
    unjudged = Collection("unjudged", collection.documents, collection.queries)
    result = fit(ranker, unjudged, samples, u0, Choices(HEADS, first_stage="a run <b>"))
    assert result.default.cross_encoder_ndcg is None and result.default.random_heads.ndcg is None
    assert all(model.ndcg is None and model.ndcg_share is None for model in result.default.models)
    path = semantic_bm_page(result).write(tmp_path / "report.html", {"command": "x"})
    page = path.read_text(encoding="utf-8")
    assert "No query length has so many here" in page and "0.8157" in page and "<b>" not in page
    read = SemanticBM.from_json(result.to_json())
    assert "models" in read.figures() and "predicted" not in read.figures(), "it has no predictions to draw"


def test_a_circuit_of_all_heads_leaves_none_to_draw(material):
    every = tuple(Head(layer, head) for layer in range(3) for head in range(4))
    result = fit(*material, Choices(HEADS, taken=every))
    assert result.default.random_heads is None


@pytest.fixture
def run(planted, tmp_path):
    (tmp_path / FILE).write_text(json.dumps(planted[0].to_json()), encoding="utf-8")
    return tmp_path


def test_the_fitted_model_is_loaded_as_a_ranker_and_gives_its_predictions(planted, run):
    result, samples = planted
    ranker = load(f"semantic-bm:{run}")
    assert ranker.kind == "semantic-bm" and ranker.name == f"semantic-bm:{run}"
    scores = ranker.score([(pair.query, pair.text) for pair in samples.pairs])
    frame = result.predictions[result.predictions["protocol"] == "default"]
    assert np.allclose(scores, frame["semantic_bm"], atol=1e-4)
    ranked = ranker.rank("red cat", {"a": "the red cat", "b": "slow house"})
    assert [one.score for one in ranked] == sorted((one.score for one in ranked), reverse=True)
    assert ranker.scores([("red cat", "house " * 99)]).cut == 1
    assert ranker.fingerprint() == load(f"semantic-bm:{run}").fingerprint()


def test_an_explanation_sums_to_the_score(run):
    ranker = load(f"semantic-bm:{run}")
    query, text = "red cat berlin", "the red cat runs in berlin"
    found = ranker.explain(query, text)
    assert [term.token for term in found.terms] == ["red", "cat", "berlin"]
    assert found.score == pytest.approx(float(ranker.score([(query, text)])[0]), abs=1e-9)
    assert found.intercept + sum(term.total for term in found.terms) == pytest.approx(found.score, abs=1e-9)
    for term in found.terms:
        assert term.idf == pytest.approx(SLOPES[0] * term.f, abs=1e-5)
        for k in range(2):
            assert term.matching[k] == pytest.approx(SLOPES[1 + k] * term.reads[k], abs=1e-5)
            assert term.interaction[k] == pytest.approx(SLOPES[3 + k] * term.f * term.reads[k], abs=1e-5)
    with pytest.raises(UserError, match="the query is empty"):
        ranker.explain(" ", text)


def test_only_the_layers_that_hold_the_heads_are_run(run, monkeypatch):
    ranker = load(f"semantic-bm:{run}")
    layers = []
    layer = ranker.base.encoder.layer
    monkeypatch.setattr(ranker.base.encoder, "layer", lambda n, *a, **k: layers.append(n) or layer(n, *a, **k))
    ranker.score([("red cat", "the cat")])
    assert layers == [0], "of the second layer only the patterns, of the third nothing"


def test_what_is_refused_when_it_is_loaded(run, folder, tmp_path, material):
    with pytest.raises(UserError, match=r"no such file.*semantic-bm:RUN"):
        load(f"semantic-bm:{tmp_path / 'nothing'}")
    with pytest.raises(UserError, match="no longer the ranker"):
        load(f"semantic-bm:{run}", max_length=12)
    found = json.loads((run / FILE).read_text())
    (run / FILE).write_text(json.dumps({**found, "heads": found["heads"][:1]}))
    with pytest.raises(UserError, match=r"semantic_bm\.json: field model\.coefficients: \d for 1 head"):
        load(f"semantic-bm:{run}")
    ranker = material[0]
    weight = ranker.encoder.anatomy.module.encoder.layer[0].output.dense.weight
    changed = tmp_path / "changed"
    with torch.no_grad():
        weight[0, 0] += 1
    try:
        ranker.model.save_pretrained(changed)
    finally:
        with torch.no_grad():
            weight[0, 0] -= 1
    for path in folder.glob("*token*"):
        (changed / path.name).write_bytes(path.read_bytes())
    (run / FILE).write_text(json.dumps({**found, "ranker": {**found["ranker"], "load": str(changed)}}))
    with pytest.raises(UserError, match="no longer the ranker that this model was fitted to"):
        load(f"semantic-bm:{run}")


def test_a_real_cross_encoder_is_fitted_by_two_of_the_papers_heads_and_loaded_again(real, tmp_path):
    ranker, collection = real("ce-minilm-l12"), open_collection("demo")
    stage = dict(list(first_stage(collection, 2).items())[:12])
    samples = read_samples(ranker, candidates(collection, stage, 2))
    u0 = IdfDimension.of(ranker, token_idf(ranker.pieces.tokenizer, "collection", collection))
    result = fit(ranker, collection, samples, u0, Choices((Head(5, 9), Head(8, 1))))
    assert u0.r.value < -0.15, "rare words have a lower U0"
    train = result.predictions[result.predictions["split"] == "train"]
    assert np.corrcoef(train["cross_encoder"], train["semantic_bm"])[0, 1] > 0.5
    (tmp_path / FILE).write_text(json.dumps(result.to_json()), encoding="utf-8")
    again = load(f"semantic-bm:{tmp_path}")
    assert again.model.layers == 9 and again.base.encoder.layers == 12
    pairs = [(pair.query, pair.text) for pair in samples.pairs[:3]]
    assert np.allclose(again.score(pairs), result.predictions["semantic_bm"][:3], atol=1e-4)


def test_eq_2_is_found_again_and_within_queries_by_hand(material):
    """Scores that are Eq. 2 by themselves: shared alphas 2 and -1, times 0.6 for matching and 0.8 with IDF."""
    ranker, collection, samples, u0 = material
    columns = Columns(samples, u0.rarity(samples.ids), ranker.encoder.heads)
    slopes = np.array([0.5, 1.2, -0.6, 1.6, -0.8])
    made = replace(samples, scores=1 + columns.shared(HEADS) @ slopes)
    result = fit(ranker, collection, made, u0, Choices(HEADS, least=30))
    found = result.shared_alpha
    assert list(found.alphas.values()) == pytest.approx([2, -1], abs=1e-4) and found.u0 == pytest.approx(
        0.5, abs=1e-4
    )
    assert (found.match, found.interaction) == pytest.approx((0.6, 0.8), abs=1e-4)
    assert found.error == pytest.approx(0, abs=1e-8) and list(found.alphas) == ["L0.H3", "L1.H1"]
    default = models_of(result.default)
    assert default["shared_alpha"].pearson.value == pytest.approx(1) and default["shared_alpha"].rank == (4,)
    test = result.test_part()
    own = [np.corrcoef(some["cross_encoder"], some["bm25"])[0, 1] for _, some in test.groupby("qid")
           if some["bm25"].nunique() > 1 and len(some) > 2]  # fmt: skip
    assert default["bm25"].within.mean.value == pytest.approx(np.mean(own))
    assert default["bm25"].within.mean.pairs == len(own)
    page = semantic_bm_page(result)
    assert any("Eq. 2 of the paper" in part for part in page._parts)
