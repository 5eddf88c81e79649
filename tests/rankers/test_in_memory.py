"""Models in memory: what sentence-transformers and transformers hold scores the same when whyrank opens it."""

import gc

import numpy as np
import pytest
import torch
import transformers

from tests.checkpoints import save, tokenizer
from tests.tiny import CONFIGS, shaken, tiny_model
from whyrank.core.errors import UserError
from whyrank.rankers.load import load
from whyrank.rankers.opening import rankers_of

sentence_transformers = pytest.importorskip("sentence_transformers")

QUERY = "how many people live in berlin"
TEXTS = ["the cat sat on the mat", "people live in berlin", "a red dog runs fast"]
PAIRS = [(QUERY, text) for text in TEXTS]
CLASSIFIER = "AutoModelForSequenceClassification"


def test_a_cross_encoder_of_sentence_transformers(tmp_path):
    model = transformers.BertForSequenceClassification(
        transformers.BertConfig(**{**CONFIGS["bert"].to_dict(), "num_labels": 1})
    )
    theirs = sentence_transformers.CrossEncoder(str(save(tmp_path, model=shaken(model))))
    ours = load(theirs)
    assert ours.kind == "cross-encoder" and "in memory (CrossEncoder)" in str(ours.source)
    expected = theirs.predict(PAIRS, activation_fn=torch.nn.Identity())
    assert expected.std() > 1e-3
    np.testing.assert_allclose(ours.score(PAIRS), expected, atol=1e-5)


@pytest.mark.parametrize("similarity", ["cosine", "dot"])
def test_a_sentence_transformer(tmp_path, similarity):
    theirs = sentence_transformers.SentenceTransformer(str(save(tmp_path)), similarity_fn_name=similarity)
    ours = load(theirs)
    expected = theirs.similarity(theirs.encode([QUERY]), theirs.encode(TEXTS))[0]
    assert expected.std() > 1e-3
    np.testing.assert_allclose(ours.score(PAIRS), expected, atol=1e-5)


def test_a_sparse_encoder(tmp_path):
    theirs = sentence_transformers.SparseEncoder(str(save(tmp_path, head="AutoModelForMaskedLM")))
    ours = load(theirs)
    assert ours.kind == "sparse"
    expected = theirs.similarity(theirs.encode_query([QUERY]), theirs.encode_document(TEXTS)).to_dense()[0]
    assert expected.std() > 1e-3
    np.testing.assert_allclose(ours.score(PAIRS), expected, rtol=1e-4)


def test_a_transformers_model_with_its_tokenizer(tmp_path):
    model = tiny_model("bert", CLASSIFIER)
    ours = load(model, tokenizer=tokenizer("bert"))
    np.testing.assert_allclose(ours.score(PAIRS), load(save(tmp_path, head=CLASSIFIER, model=model)).score(PAIRS))
    assert load(ours) is ours and rankers_of([ours, ours]) == [ours]


def test_its_copy_lives_as_long_as_the_ranker():
    model = tiny_model("bert", CLASSIFIER)
    ours = load(model, tokenizer=tokenizer("bert"))
    before, folder = ours.score(PAIRS), ours.checkpoint.folder
    with torch.no_grad():
        model.classifier.bias += 1.0
    np.testing.assert_array_equal(ours.score(PAIRS), before)
    assert folder.is_dir()
    del ours
    gc.collect()
    assert not folder.exists()


def test_a_head_that_would_be_random_is_refused():
    with pytest.raises(UserError, match=r"BertModel|missing|unknown|head"):
        load(tiny_model("bert"), tokenizer=tokenizer("bert"), kind="cross-encoder")


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (object(), "cannot be loaded; give a name"),
        (transformers.BertConfig(), "without a tokenizer; give it: load"),
    ],
)
def test_what_is_no_model_is_refused(given, says):
    with pytest.raises(UserError, match=says):
        load(given)
