"""A trained folder in other libraries: plain BERT has the same scores there, every other model is refused."""

import json

import numpy as np
import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from tests.checkpoints import save
from tests.learning.small import COLLECTION, DOCUMENTS, QUERIES
from tests.learning.tiny_networks import backbone_of
from tests.tiny import ARCHITECTURES
from whyrank.core.errors import UserError
from whyrank.learning.checkpoints import weight_bytes
from whyrank.learning.models.catalogue import MODELS, model_class
from whyrank.learning.models.network import Ingredients
from whyrank.learning.saved import save_trained
from whyrank.learning.sequence_classifier import FORMS
from whyrank.learning.trained import as_ranker
from whyrank.rankers.load import load

PAIRS = [(query, text) for query in list(QUERIES.values())[:3] for text in ["cat", *list(DOCUMENTS.values())[:4]]]


def trained(folder, name="bert", architecture="bert"):
    """A model with a large random head, saved; its scores."""
    backbone, kind = backbone_of(save(folder / "backbone", architecture)), model_class(name)
    made = kind.of(kind.Settings(max_length=22), Ingredients(backbone, COLLECTION)).eval()
    if name == "bert":
        with torch.no_grad():
            made.score.weight.copy_(
                torch.randn(made.score.weight.shape, generator=torch.Generator().manual_seed(0))
            )
            made.score.bias.fill_(0.3)
    return save_trained(made, backbone, folder / "saved", {}), made, as_ranker(made, backbone).score(PAIRS)


def in_transformers(folder):
    """The logits of `AutoModelForSequenceClassification`, and what it had to make up."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model, loading = transformers.AutoModelForSequenceClassification.from_pretrained(
        folder, output_loading_info=True
    )
    queries, documents = map(list, zip(*PAIRS, strict=True))
    with torch.no_grad():
        logits = model.eval()(**tokenizer(queries, documents, padding=True, return_tensors="pt")).logits
    return logits[:, 0].numpy(), {*loading["missing_keys"], *loading["unexpected_keys"]}


@pytest.mark.parametrize("architecture", sorted(set(FORMS) & set(ARCHITECTURES)))
def test_plain_bert_scores_the_same_in_transformers_and_sentence_transformers(tmp_path, architecture):
    from sentence_transformers import CrossEncoder

    folder, made, scores = trained(tmp_path, "bert", architecture)
    assert np.std(scores) > 0.1, "the scores must differ, or this test shows nothing"
    logits, strange = in_transformers(folder)
    assert not strange
    np.testing.assert_allclose(logits, scores, atol=1e-5)
    theirs = CrossEncoder(str(folder))
    assert theirs.max_seq_length == 22
    np.testing.assert_allclose(theirs.predict(PAIRS), scores, atol=1e-5)
    again = load(str(folder))
    assert again.kind == "trained" and again.network.name == "bert"
    np.testing.assert_allclose(again.score(PAIRS), scores, atol=1e-6)
    for name, weight in again.network.state_dict().items():
        assert torch.equal(weight, made.state_dict()[name]), f"{name} does not come back bit for bit"


@pytest.mark.parametrize("scale", [1e-3, 1, 50])
def test_small_and_large_scores_pass_through_the_activation(tmp_path, scale):
    folder, _, _ = trained(tmp_path)
    path = folder / "model.safetensors"
    weights = load_file(path)
    for part in ("weight", "bias"):
        weights[f"bert.pooler.dense.{part}"] *= scale
    save_file(weights, path, metadata={"format": "pt"})
    scores = load(str(folder)).score(PAIRS)
    np.testing.assert_allclose(in_transformers(folder)[0], scores, rtol=1e-5, atol=1e-5 * scale)


@pytest.mark.parametrize(
    ("name", "architecture"), [*((name, "bert") for name in MODELS if name != "bert"), ("bert", "modernbert")]
)
def test_every_other_model_is_refused_elsewhere_and_opened_here(tmp_path, name, architecture):
    from sentence_transformers import CrossEncoder, SentenceTransformer

    folder, _, scores = trained(tmp_path, name, architecture)
    auto = [transformers.AutoConfig, transformers.AutoModel, transformers.AutoModelForSequenceClassification]
    for opened in [*(one.from_pretrained for one in auto), CrossEncoder, SentenceTransformer]:
        with pytest.raises((ValueError, OSError), match=rf"whyrank-{name}"):
            opened(str(folder))
    np.testing.assert_allclose(load(str(folder)).score(PAIRS), scores, atol=1e-6)
    for kind in ("cross-encoder", "bi-encoder"):
        with pytest.raises(UserError, match=rf"whyrank-{name}"):
            load(str(folder), kind=kind)


@pytest.mark.parametrize("name", ["bert", "dgre", "drmm"])
def test_a_folder_of_an_earlier_version_is_opened_with_the_same_scores(tmp_path, name):
    """Until November 2026, all models had the backbone's config and the network's own names of weights."""
    folder, made, scores = trained(tmp_path, name)
    backbone = json.loads((tmp_path / "backbone" / "config.json").read_text())
    own = json.loads((folder / "config.json").read_text())["whyrank"]
    own.pop("backbone_config", None)
    old = {**backbone, "architectures": [type(made).__name__], "whyrank": own}
    (folder / "config.json").write_text(json.dumps(old))
    (folder / "model.safetensors").write_bytes(weight_bytes(made))
    ranker = load(str(folder))
    assert ranker.kind == "trained"
    np.testing.assert_allclose(ranker.score(PAIRS), scores, atol=1e-6)


def test_a_head_that_was_trained_further_elsewhere_is_not_read_as_ours(tmp_path):
    folder, _, _ = trained(tmp_path)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder)
    with torch.no_grad():
        model.bert.pooler.dense.weight += 0.01
    model.save_pretrained(folder)
    assert "whyrank" in json.loads((folder / "config.json").read_text())
    with pytest.raises(UserError, match=r"head is not one that whyrank train writes.*cross-encoder"):
        load(str(folder))
    np.testing.assert_allclose(
        load(str(folder), kind="cross-encoder").score(PAIRS), in_transformers(folder)[0], rtol=1e-4, atol=1e-3
    )


def test_the_same_model_gives_the_same_bytes(tmp_path):
    folder, made, _ = trained(tmp_path)
    again = save_trained(made, backbone_of(tmp_path / "backbone"), tmp_path / "again", {})
    for path in sorted(folder.iterdir()):
        assert path.read_bytes() == (again / path.name).read_bytes(), path.name


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ([], "entry whyrank: expected object"),
        ({"settings": {}}, "entry whyrank: .*model"),
        ({"model": 3}, "entry whyrank: field model"),
        ({"model": "bert", "settings": []}, "entry whyrank: field settings"),
        ({"model": "brt", "settings": {}}, "no model is called 'brt'"),
        ({"model": "dgre", "settings": {}, "backbone_config": 7}, "entry whyrank: field backbone_config"),
    ],
)
def test_an_entry_of_another_form_is_refused_by_file_and_field(tmp_path, entry, says):
    folder, _, _ = trained(tmp_path)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "whyrank": entry}))
    with pytest.raises(UserError, match=rf"config\.json: {says}"):
        load(str(folder))


def test_a_folder_without_the_entry_is_no_trained_model(tmp_path):
    with pytest.raises(UserError, match="not a model of whyrank train"):
        load(str(save(tmp_path)), kind="trained")
