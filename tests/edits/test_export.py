"""Exports: ONNX Runtime's scores against the ranker's, on every family; whole folders or none."""

import json
from itertools import product

import jsonschema
import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer

import whyrank
from tests.checkpoints import save
from tests.edits.dialed import COLLECTION, PAIRS, cross_encoder, idf_file
from tests.tiny import ARCHITECTURES
from whyrank.collections.bm25 import first_stage
from whyrank.core.errors import UserError
from whyrank.edits.edit import Edit
from whyrank.edits.export import api, runtime
from whyrank.edits.export.api import ordered_alike
from whyrank.edits.export.results import Export
from whyrank.edits.export.runtime import OnnxRanker
from whyrank.edits.unedited import Unedited
from whyrank.rankers.load import load

ort = pytest.importorskip("onnxruntime")
HOW = {"collection": COLLECTION, "depth": 9}


def plain_session(folder, pairs, types=True):
    """The exported logits as somebody would compute them who knows the folder alone: one pair at a time."""
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    session = ort.InferenceSession(str(folder / "model.onnx"), providers=["CPUExecutionProvider"])
    names = [one.name for one in session.get_inputs()]
    found = []
    for pair in pairs:
        one = tokenizer.encode(*pair)
        given = {"input_ids": one.ids, "attention_mask": one.attention_mask, "token_type_ids": one.type_ids}
        found.append(session.run(None, {name: np.array([given[name]], dtype=np.int64) for name in names})[0][0])
    return np.array(found)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("labels", [1, 2])
def test_a_cross_encoder_scores_the_same_elsewhere(tmp_path, architecture, labels):
    ranker = cross_encoder(tmp_path / "ranker", architecture, labels)
    found = whyrank.export(ranker, out=tmp_path / "out", **HOW)
    logits = plain_session(tmp_path / "out", PAIRS)
    scores = logits[:, 0] if labels == 1 else logits[:, 1] - logits[:, 0]
    np.testing.assert_allclose(scores, ranker.score(PAIRS), atol=1e-5)
    (check,) = found.checks
    assert check.file == "model.onnx" and check.largest < 1e-4 and check.ordered_alike == 1
    assert found.outputs == ("logits",) and found.fingerprint == ranker.fingerprint()
    written = json.loads((tmp_path / "out" / "export.json").read_text())
    jsonschema.validate(written, Export.schema())
    assert Export.read(tmp_path / "out") == found and "<h1>" in (tmp_path / "out" / "report.html").read_text()
    files = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"model.onnx", "tokenizer.json", "config.json", "export.json", "report.html"} <= files
    assert not files & {"model.safetensors", "whyrank.json"}, "it is no checkpoint of ours"


@pytest.mark.parametrize("settings", [{"pooling": "cls"}, {"pooling": "mean", "normalise": True}])
@pytest.mark.parametrize("architecture", ["bert", "distilbert", "mpnet", "modernbert"])
def test_a_bi_encoder_has_its_vector_and_its_states(tmp_path, architecture, settings):
    ranker = load(str(save(tmp_path / "bi", architecture)), query_prefix="the ", **settings)
    found = whyrank.export(ranker, out=tmp_path / "out", **HOW)
    assert found.outputs == ("last_hidden_state", "sentence_embedding") and found.checks[0].largest < 1e-4
    assert any("'the ' before every query" in note for note in found.notes)
    vectors = ranker.encode([text for _, text in PAIRS], "document")[0]
    onnx = OnnxRanker(ranker, tmp_path / "out" / "model.onnx")
    states, pooled = onnx._run(ranker.sequences([text for _, text in PAIRS], "document"), "document", None)
    np.testing.assert_allclose(np.stack(pooled), torch.stack(vectors).numpy(), atol=1e-5)
    assert states[0].ndim == 2
    assert (tmp_path / "out" / "1_Pooling" / "config.json").exists()


def late(folder):
    """A random ColBERT with a projection, markers, expanded queries."""
    save(folder)
    weights = load_file(folder / "model.safetensors")
    generator = torch.Generator().manual_seed(0)
    width = load(str(folder), kind="bi-encoder").encoder.width
    weights["linear.weight"] = torch.randn(6, width, generator=generator)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    return load(
        str(folder), kind="late-interaction", query_marker="[unused0]", document_marker="[unused1]",
        query_length=8, expand_queries=True,
    )  # fmt: skip


def test_late_interaction_and_sparse_scores_are_those_of_the_rankers(tmp_path):
    for name, ranker in (
        ("late", late(tmp_path / "colbert")),
        ("sparse", load(str(save(tmp_path / "splade", head="AutoModelForMaskedLM")), kind="sparse")),
    ):
        found = whyrank.export(ranker, out=tmp_path / name, **HOW)
        assert found.checks[0].largest < 1e-3 and found.checks[0].ordered_alike == 1, name
        scores = OnnxRanker(ranker, tmp_path / name / "model.onnx").scores(PAIRS)
        np.testing.assert_allclose(scores, ranker.score(PAIRS), atol=1e-4)
    notes = " ".join(Export.read(tmp_path / "late").notes)
    assert "[unused" not in notes and "Fill queries up with the token" in notes


def test_batches_and_lengths_may_be_any(tmp_path):
    ranker = cross_encoder(tmp_path / "ranker")
    whyrank.export(ranker, out=tmp_path / "out", **HOW)
    onnx = OnnxRanker(ranker, tmp_path / "out" / "model.onnx")
    pairs = [("cat", " ".join(["dog"] * n)) for n in (1, 2, 7, 20)] * 9
    np.testing.assert_allclose(onnx.scores(pairs), ranker.score(pairs), atol=1e-5)


def test_an_edited_ranker_is_exported_as_it_is_edited(tmp_path):
    ranker = cross_encoder(tmp_path / "ranker")
    idf = str(idf_file(ranker, tmp_path / "idf.tsv"))
    edited = Edit.parse("up cat=5sd").apply(ranker, idf=idf)
    before = ranker.score(PAIRS)
    whyrank.export(edited, out=tmp_path / "out", **HOW)
    assert (ranker.score(PAIRS) == before).all()
    with edited as changed:
        scores = changed.score(PAIRS)
    np.testing.assert_allclose(plain_session(tmp_path / "out", PAIRS)[:, 0], scores, atol=1e-5)
    assert np.abs(scores - before).max() > 1e-3


def test_int8_is_measured_by_what_it_does(real, tmp_path):
    ranker = real("bi-minilm-l3")
    found = whyrank.export(ranker, out=tmp_path / "out", int8=True, queries=5)
    exact, small = found.checks
    assert small.file == "model_int8.onnx" and small.megabytes < exact.megabytes / 3
    assert small.largest > exact.largest and small.in_sd > 0
    demo = whyrank.collection("demo")
    stage = {qid: rows[:10] for qid, rows in list(first_stage(demo, 10).items())[:5]}
    unedited = Unedited.ranked(ranker, demo, stage, depth=10)
    scores = OnnxRanker(ranker, tmp_path / "out" / "model_int8.onnx").scores(unedited.pairs)
    assert small.largest == pytest.approx(np.abs(scores - unedited.scores).max(), rel=1e-3)
    alike = of = 0
    for qid in stage:
        places = [i for i, row in enumerate(unedited.rows) if row.qid == qid]
        for i, j in product(places, places):
            if i < j and unedited.scores[i] != unedited.scores[j]:
                of += 1
                alike += (scores[i] - scores[j]) * (unedited.scores[i] - unedited.scores[j]) > 0
    assert ordered_alike(unedited, scores) == alike / of == small.ordered_alike
    assert f"{small.largest:.2g}" in " ".join(found.verdict())


def test_a_trained_bert_is_exported_and_other_models_are_refused_in_one_line(tmp_path):
    from tests.learning.small import write_collection
    from tests.learning.tiny_training import still_backbone

    still_backbone(tmp_path)
    write_collection(tmp_path / "judged")
    for model in ("bert", "dgre"):
        whyrank.train(
            model, str(tmp_path / "backbone"), str(tmp_path / "judged"), folds=3, seeds=1, keep_models="first",
            epochs=1, batch=6, max_length=24, out=tmp_path / model,
        )  # fmt: skip
        folder = next(path.parent for path in (tmp_path / model).rglob("model.safetensors"))
        if model == "dgre":
            with pytest.raises(
                UserError, match="is not a plain transformer and cannot be exported; of the trained"
            ):
                whyrank.export(str(folder), out=tmp_path / "no", **HOW)
            assert not (tmp_path / "no").exists()
            continue
        ranker = load(str(folder))
        whyrank.export(ranker, out=tmp_path / "out", **HOW)
        short = [(query, " ".join(text.split()[:4])) for query, text in PAIRS]
        np.testing.assert_allclose(plain_session(tmp_path / "out", short)[:, 0], ranker.score(short), atol=1e-5)


def test_nothing_is_left_of_what_fails(tmp_path, monkeypatch):
    ranker = cross_encoder(tmp_path / "ranker")
    plain = OnnxRanker.scores
    monkeypatch.setattr(OnnxRanker, "scores", lambda self, *more: plain(self, *more) + 9)
    with pytest.raises(UserError, match=r"the export is not the ranker: model\.onnx: scores differ by at most 9"):
        whyrank.export(ranker, out=tmp_path / "out", **HOW)
    monkeypatch.undo()
    monkeypatch.setattr(api, "check", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        whyrank.export(ranker, out=tmp_path / "out", **HOW)
    assert sorted(path.name for path in tmp_path.iterdir() if "lock" not in path.name) == ["ranker"]
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    with pytest.raises(UserError, match="this folder holds other files"):
        whyrank.export(ranker, out=tmp_path / "full", **HOW)
    with pytest.raises(UserError, match="no format to export to; give onnx"):
        whyrank.export(ranker, out=tmp_path / "out", onnx=False)
    with pytest.raises(UserError, match="bm25 cannot be opened"):
        whyrank.export("bm25", out=tmp_path / "out")


def test_without_onnx_runtime_it_says_what_to_install(tmp_path, monkeypatch):
    import builtins

    real_import = builtins.__import__

    def without(name, *more):
        if name == "onnxruntime":
            raise ImportError(name)
        return real_import(name, *more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(UserError, match=r"pip install 'whyrank\[onnx\]'"):
        runtime.onnxruntime()
