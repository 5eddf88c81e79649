"""Changes in place: taken back bit for bit, never stale, and only where a changed token is read."""

import json

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from tests.checkpoints import save
from tests.edits.dialed import PAIRS, cross_encoder, dialed, token
from tests.tiny import shaken, tiny_model
from whyrank.edits.edit import Edit
from whyrank.edits.rows import applied, apply, reads_any, rows_are_local
from whyrank.rankers.load import load

CAT = Edit.of(up=["cat=30"])
MORE = [
    *PAIRS,
    ("red", "blue " * 40 + "cat"),
    ("red", "cat " + "blue " * 40),
    ("tree", "house"),
    ("many cat", "on"),
]


def cross(folder):
    return cross_encoder(folder)


def bi(folder):
    return load(str(save(folder)), pooling="mean", normalise=True, query_prefix="red ")


def bi_whose_prefix_is_edited(folder):
    return load(str(save(folder)), pooling="cls", query_prefix="cat ")


def late(folder):
    save(folder)
    (folder / "1_Dense").mkdir()
    save_file({"linear.weight": torch.randn(5, 16)}, str(folder / "1_Dense" / "model.safetensors"))
    return load(str(folder), kind="late-interaction")


def sparse(folder):
    model = shaken(type(tiny_model("bert", "AutoModelForMaskedLM"))(tiny_model("bert").config).eval())
    return load(str(save(folder, "bert", model=model)))


FAMILIES = [cross, bi, bi_whose_prefix_is_edited, late, sparse]


@pytest.fixture(params=FAMILIES, ids=lambda make: make.__name__)
def ranker(request, tmp_path):
    return request.param(tmp_path)


def test_scores_change_inside_and_are_the_same_again_after(ranker):
    change = dialed(ranker).change(CAT)
    weights = ranker.encoder.word_embeddings.detach().clone()
    before, fingerprint = ranker.score(MORE), ranker.fingerprint()
    with applied(ranker, change):
        inside = ranker.score(MORE)
        assert ranker.fingerprint() != fingerprint
    assert np.abs(inside - before).max() > 1e-4, "the edit must do something, or this shows nothing"
    assert torch.equal(ranker.encoder.word_embeddings, weights)
    assert np.array_equal(ranker.score(MORE), before) and ranker.fingerprint() == fingerprint


def test_only_pairs_that_read_a_changed_token_change(ranker):
    change = dialed(ranker).change(CAT)
    touched = reads_any(ranker, change.tokens, MORE)
    before = np.array([ranker.score([pair])[0] for pair in MORE])
    with applied(ranker, change):
        after = np.array([ranker.score([pair])[0] for pair in MORE])
    assert np.array_equal(before[~touched], after[~touched])
    assert np.array_equal(before[touched] != after[touched], np.ones(touched.sum(), dtype=bool))
    if ranker.kind == "sparse":
        assert touched.all() and not rows_are_local(ranker)
    elif getattr(ranker, "prefixes", {}).get("query") != "cat ":
        assert 0 < touched.sum() < len(MORE) and not touched[4], "what is cut off is not read"


def test_it_is_taken_back_whatever_happens_inside(tmp_path):
    ranker = cross(tmp_path)
    weights, change = ranker.encoder.word_embeddings.detach().clone(), dialed(ranker).change(CAT)
    with pytest.raises(KeyboardInterrupt), applied(ranker, change):
        assert not torch.equal(ranker.encoder.word_embeddings, weights)
        raise KeyboardInterrupt
    assert torch.equal(ranker.encoder.word_embeddings, weights)


def test_changes_nest_and_undo_in_reverse(tmp_path):
    ranker = cross(tmp_path)
    dial, weights = dialed(ranker), ranker.encoder.word_embeddings.detach().clone()
    first = apply(ranker, dial.change(CAT))
    once = ranker.encoder.word_embeddings.detach().clone()
    with applied(ranker, dial.change(Edit.of(down=["cat=3", "dog=4"]))):
        assert not torch.equal(ranker.encoder.word_embeddings, once)
    assert torch.equal(ranker.encoder.word_embeddings, once)
    first()
    assert torch.equal(ranker.encoder.word_embeddings, weights)


def test_an_edit_of_a_sparse_ranker_changes_its_output_matrix_too(tmp_path):
    ranker = sparse(tmp_path)
    assert json.loads((tmp_path / "config.json").read_text())["tie_word_embeddings"]
    change = dialed(ranker).change(CAT)
    with applied(ranker, change):
        output = ranker.model.get_output_embeddings().weight
        assert torch.equal(output[token(ranker, "cat")], ranker.encoder.word_embeddings[token(ranker, "cat")])
