"""Saved checkpoints score as the edited ranker did: in whyrank, in transformers, in sentence-transformers."""

import json

import numpy as np
import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from tests.checkpoints import save
from tests.edits.dialed import PAIRS, cross_encoder, dialed
from tests.tiny import ARCHITECTURES, shaken, tiny_model
from whyrank.core.errors import UserError
from whyrank.core.results import plain
from whyrank.edits import saving
from whyrank.edits.dial import Dial
from whyrank.edits.edit import Edit
from whyrank.edits.rows import applied
from whyrank.edits.saving import check_target, save_checkpoint
from whyrank.rankers.load import load

EDITS = Edit.of(up=["cat=20"], down=["berlin=9"])


def saved(ranker, folder, edits=EDITS, pairs=PAIRS, dial=None):
    """Saves the edited ranker; gives its scores, which must differ from the unedited ones."""
    change = (dial or dialed(ranker)).change(edits)
    before = ranker.score(pairs)
    with applied(ranker, change):
        scores = ranker.score(pairs)
        save_checkpoint(ranker, folder, {"edits": plain(edits.parts)}, "edited from")
    assert np.abs(scores - before).max() > 1e-4
    assert np.array_equal(ranker.score(pairs), before)
    return scores


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_cross_encoder_loads_everywhere(tmp_path, architecture):
    from sentence_transformers import CrossEncoder

    scores = saved(cross_encoder(tmp_path / "old", architecture), tmp_path / "new")
    again = load(str(tmp_path / "new"))
    assert again.kind == "cross-encoder"
    np.testing.assert_allclose(again.score(PAIRS), scores, atol=1e-5)
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "new")
    model = transformers.AutoModelForSequenceClassification.from_pretrained(tmp_path / "new").eval()
    queries, documents = map(list, zip(*PAIRS, strict=True))
    with torch.no_grad():
        logits = model(**tokenizer(queries, documents, padding=True, return_tensors="pt")).logits[:, 0]
    np.testing.assert_allclose(logits, scores, atol=1e-5)
    theirs = CrossEncoder(str(tmp_path / "new")).predict(PAIRS, activation_fn=torch.nn.Identity())
    np.testing.assert_allclose(theirs, scores, atol=1e-5)


@pytest.mark.parametrize("architecture", ["bert", "distilbert", "mpnet", "modernbert"])
@pytest.mark.parametrize(
    "settings",
    [
        {"pooling": "mean", "normalise": True},
        {"pooling": "cls", "normalise": False, "query_prefix": "how many ", "document_prefix": "the "},
    ],
    ids=["mean", "cls"],
)
def test_a_bi_encoder_says_to_sentence_transformers_how_it_is_read(tmp_path, architecture, settings):
    from sentence_transformers import SentenceTransformer

    scores = saved(load(str(save(tmp_path / "old", architecture)), **settings), tmp_path / "new")
    again = load(str(tmp_path / "new"))
    assert again.kind == "bi-encoder" and again.pooling == settings["pooling"]
    np.testing.assert_allclose(again.score(PAIRS), scores, atol=1e-5)
    theirs = SentenceTransformer(str(tmp_path / "new"))
    queries, documents = theirs.encode_query([q for q, _ in PAIRS]), theirs.encode_document([d for _, d in PAIRS])
    np.testing.assert_allclose((queries * documents).sum(1), scores, atol=1e-5)
    assert theirs.similarity_fn_name == ("cosine" if settings["normalise"] else "dot")
    hidden = transformers.AutoModel.from_pretrained(tmp_path / "new").get_input_embeddings().weight
    assert not torch.equal(hidden, tiny_model(architecture).get_input_embeddings().weight)


def test_files_that_say_it_already_are_kept_and_others_corrected(tmp_path):
    first = load(str(save(tmp_path / "old")), pooling="mean", normalise=True)
    saved(first, tmp_path / "new")
    prompts = tmp_path / "new" / "config_sentence_transformers.json"
    prompts.write_text(json.dumps({"prompts": {"query": "", "document": "", "task": "x"}, "mine": 1}))
    saved(load(str(tmp_path / "new")), tmp_path / "same")
    assert json.loads((tmp_path / "same" / prompts.name).read_text())["mine"] == 1
    saved(load(str(tmp_path / "new"), pooling="cls", normalise=False), tmp_path / "other")
    written = json.loads((tmp_path / "other" / prompts.name).read_text())
    assert written["similarity_fn_name"] == "dot" and written["prompts"]["task"] == "x" and written["mine"] == 1
    assert len(json.loads((tmp_path / "other" / "modules.json").read_text())) == 2
    assert load(str(tmp_path / "other")).pooling == "cls"


def test_colbert_keeps_its_projection(tmp_path):
    save(tmp_path / "old", "bert")
    weights = {f"bert.{name}": value for name, value in tiny_model("bert").state_dict().items()}
    projection = torch.randn(5, 16, generator=torch.Generator().manual_seed(0))
    save_file({**weights, "linear.weight": projection}, str(tmp_path / "old" / "model.safetensors"))
    (tmp_path / "old" / "artifact.metadata").write_text(json.dumps({"query_token_id": "[unused0]"}))
    ranker = load(str(tmp_path / "old"))
    assert ranker.kind == "late-interaction"
    scores = saved(ranker, tmp_path / "new")
    names = load_file(tmp_path / "new" / "model.safetensors")
    assert torch.equal(names["linear.weight"], projection) and "bert.embeddings.word_embeddings.weight" in names
    np.testing.assert_allclose(load(str(tmp_path / "new")).score(PAIRS), scores, atol=1e-5)


def test_a_projection_in_a_module_of_its_own_is_copied(tmp_path):
    save(tmp_path / "old")
    (tmp_path / "old" / "1_Dense").mkdir()
    save_file({"linear.weight": torch.randn(5, 16)}, str(tmp_path / "old" / "1_Dense" / "model.safetensors"))
    scores = saved(load(str(tmp_path / "old"), kind="late-interaction"), tmp_path / "new")
    np.testing.assert_allclose(load(str(tmp_path / "new")).score(PAIRS), scores, atol=1e-5)


def test_a_sparse_ranker_keeps_one_matrix_for_both_ends(tmp_path):
    model = shaken(type(tiny_model("bert", "AutoModelForMaskedLM"))(tiny_model("bert").config).eval())
    scores = saved(load(str(save(tmp_path / "old", "bert", model=model))), tmp_path / "new")
    again = load(str(tmp_path / "new"))
    assert again.kind == "sparse"
    np.testing.assert_allclose(again.score(PAIRS), scores, atol=1e-5)


def test_what_was_done_is_written_and_what_was_done_before(tmp_path):
    saved(cross_encoder(tmp_path / "old"), tmp_path / "once")
    saved(load(str(tmp_path / "once")), tmp_path / "twice", Edit.of(up=["dog=30"]))
    written = json.loads((tmp_path / "twice" / "edits.json").read_text())
    assert written["edits"][0]["term"] == "dog" and written["earlier"]["edits"] == plain(EDITS.parts)
    assert written["earlier"]["earlier"] is None
    about = json.loads((tmp_path / "twice" / "whyrank.json").read_text())
    assert about["name"] == "twice" and about["kind"] == "cross-encoder"
    assert about["source"].startswith(f"edited from {tmp_path / 'once'}")
    assert str(load(str(tmp_path / "twice")).source).startswith("edited from")


def test_weights_and_strange_files_of_the_original_are_left_behind(tmp_path):
    ranker = cross_encoder(tmp_path / "old")
    for name in ("pytorch_model.bin.index.json", "pytorch_model.bin", "optimizer.pt", "notes.txt"):
        (tmp_path / "old" / name).write_text("{}")
    (tmp_path / "old" / "checkpoint-500").mkdir()
    saved(ranker, tmp_path / "new")
    names = {path.name for path in (tmp_path / "new").iterdir()}
    assert "notes.txt" in names and "tokenizer.json" in names
    assert not names & {"pytorch_model.bin.index.json", "pytorch_model.bin", "optimizer.pt", "checkpoint-500"}


def test_only_a_new_or_an_empty_folder_is_written_to(tmp_path):
    ranker = cross_encoder(tmp_path / "old")
    with pytest.raises(UserError, match="this folder holds other files"):
        saved(ranker, tmp_path / "old")
    (tmp_path / "file").write_text("x")
    with pytest.raises(UserError, match="a file stands where"):
        check_target(tmp_path / "file")
    (tmp_path / "empty").mkdir()
    saved(ranker, tmp_path / "empty")
    assert (tmp_path / "empty" / "model.safetensors").exists()


def test_nothing_is_left_of_a_save_that_fails(tmp_path, monkeypatch):
    ranker = cross_encoder(tmp_path / "old")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(saving, "_save_weights", full)
    with pytest.raises(UserError, match="the disk is full"):
        saved(ranker, tmp_path / "new")
    assert not [path for path in tmp_path.iterdir() if path.name not in ("old", ".new.lock")]


def test_what_is_no_hugging_face_model_is_refused(tmp_path):
    ranker = cross_encoder(tmp_path / "old")
    ranker.model = object()
    with pytest.raises(UserError, match="cannot be saved as a Hugging Face checkpoint"):
        save_checkpoint(ranker, tmp_path / "new", {}, "edited from")


REAL_PAIRS = [
    ("how many people live in berlin", "Berlin has a population of 3.5 million people."),
    ("how many people live in berlin", "A cat sat on the mat in the house."),
]


@pytest.mark.parametrize("name", ["ce-minilm-l12", "bi-bge-small"])
def test_a_real_ranker_scores_as_previewed(real, tmp_path, name):
    from sentence_transformers import CrossEncoder, SentenceTransformer

    ranker, edits = real(name), Edit.of(up=["berlin=20"], down=["people=10"])
    scores = saved(ranker, tmp_path / "new", edits, REAL_PAIRS, Dial.of(ranker))
    np.testing.assert_allclose(load(str(tmp_path / "new")).score(REAL_PAIRS), scores, atol=1e-5)
    if name.startswith("ce"):
        theirs = CrossEncoder(str(tmp_path / "new")).predict(REAL_PAIRS)
    else:
        model = SentenceTransformer(str(tmp_path / "new"))
        queries, documents = (list(side) for side in zip(*REAL_PAIRS, strict=True))
        theirs = (model.encode_query(queries) * model.encode_document(documents)).sum(1)
    np.testing.assert_allclose(theirs, scores, atol=1e-5)
