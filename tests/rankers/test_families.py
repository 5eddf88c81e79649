"""Each family against its definition, computed with Hugging Face's own model, on tiny random checkpoints."""

import json

import numpy as np
import pytest
import torch
import transformers
from safetensors.torch import save_file
from torch.nn.functional import normalize

from tests.checkpoints import save, tokenizer
from tests.tiny import ARCHITECTURES, CONFIGS, shaken, tiny_model
from whyrank.core.errors import UserError
from whyrank.rankers.load import load

PAIRS = [
    ("how many people live in berlin", "the cat sat on the mat"),
    ("red tree", "many people live in berlin in the house"),
    ("cat", "dog"),
    ("how many people live in berlin", "cat " * 40),
]


def their_inputs(architecture, *texts):
    encoded = tokenizer(architecture)(*texts, padding=True, truncation=True, return_tensors="pt")
    if getattr(CONFIGS[architecture], "type_vocab_size", 0) < 2:
        encoded.pop("token_type_ids", None)
    return encoded


def their_hidden(architecture, texts):
    encoded = their_inputs(architecture, list(texts))
    with torch.no_grad():
        hidden = tiny_model(architecture)(**encoded).last_hidden_state
    return [row[mask.bool()] for row, mask in zip(hidden, encoded["attention_mask"], strict=True)]


@pytest.mark.parametrize("labels", [1, 2])
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_cross_encoder_is_the_heads_logit_or_the_difference_of_two(tmp_path, architecture, labels):
    config = type(CONFIGS[architecture])(**{**CONFIGS[architecture].to_dict(), "num_labels": labels})
    model = shaken(transformers.AutoModelForSequenceClassification.from_config(config).eval())
    ranker = load(str(save(tmp_path, architecture, model=model)))
    assert ranker.kind == "cross-encoder"
    queries, documents = map(list, zip(*PAIRS, strict=True))
    with torch.no_grad():
        logits = model(**their_inputs(architecture, queries, documents)).logits
    expected = logits[:, 0] if labels == 1 else logits[:, 1] - logits[:, 0]
    assert expected.std() > 0.01, "the scores must differ, or this test shows nothing"
    np.testing.assert_allclose(ranker.score(PAIRS), expected, atol=2e-5)


def test_token_types_reach_the_model_only_where_its_tokenizer_gives_them(tmp_path):
    head = "AutoModelForSequenceClassification"
    with_types = load(str(save(tmp_path / "with", head=head)), kind="cross-encoder")
    plain = save(tmp_path / "without", head=head)
    settings = json.loads((plain / "tokenizer_config.json").read_text())
    settings["model_input_names"] = ["input_ids", "attention_mask"]
    (plain / "tokenizer_config.json").write_text(json.dumps(settings))
    without_types = load(str(plain), kind="cross-encoder")
    assert any(with_types.pieces.pairs(PAIRS)[0].type_ids)
    assert not any(without_types.pieces.pairs(PAIRS)[0].type_ids)


def test_a_modernbert_classifier_may_read_the_mean_of_all_rows(tmp_path):
    settings = {**CONFIGS["modernbert"].to_dict(), "num_labels": 1, "classifier_pooling": "mean"}
    model = shaken(
        transformers.ModernBertForSequenceClassification(transformers.ModernBertConfig(**settings)).eval()
    )
    ranker = load(str(save(tmp_path, "modernbert", model=model)))
    queries, documents = map(list, zip(*PAIRS, strict=True))
    with torch.no_grad():
        expected = model(**their_inputs("modernbert", queries, documents)).logits[:, 0]
    np.testing.assert_allclose(ranker.score(PAIRS), expected, atol=1e-5)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("pooling", ["cls", "mean"])
@pytest.mark.parametrize("normalise", [True, False])
def test_bi_encoder_is_a_dot_product_of_pooled_states(tmp_path, architecture, pooling, normalise):
    ranker = load(str(save(tmp_path, architecture)), pooling=pooling, normalise=normalise, query_prefix="how ")
    assert ranker.kind == "bi-encoder"

    def embed(texts):
        pooled = torch.stack([h[0] if pooling == "cls" else h.mean(0) for h in their_hidden(architecture, texts)])
        return normalize(pooled, dim=-1) if normalise else pooled

    queries, documents = embed(["how " + query for query, _ in PAIRS]), embed([text for _, text in PAIRS])
    expected = (queries * documents).sum(-1)
    np.testing.assert_allclose(ranker.score(PAIRS), expected, atol=1e-4 if not normalise else 1e-5)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_late_interaction_is_maxsim_of_projected_states(tmp_path, architecture):
    save(tmp_path, architecture)
    projection = torch.randn(5, 16)
    (tmp_path / "1_Dense").mkdir()
    save_file({"linear.weight": projection}, str(tmp_path / "1_Dense" / "model.safetensors"))
    ranker = load(str(tmp_path), kind="late-interaction")
    queries, documents = (their_hidden(architecture, [pair[i] for pair in PAIRS]) for i in (0, 1))
    expected = []
    for query, document in zip(queries, documents, strict=True):
        q, d = normalize(query @ projection.T, dim=-1), normalize(document @ projection.T, dim=-1)
        expected.append(sum(max(float(x @ y) for y in d) for x in q))
    np.testing.assert_allclose(ranker.score(PAIRS), expected, atol=1e-4)


def colbert(folder, **metadata):
    """A checkpoint as ColBERT's authors save it."""
    save(folder, "bert")
    weights = {f"bert.{name}": value for name, value in tiny_model("bert").state_dict().items()}
    projection = torch.randn(5, 16, generator=torch.Generator().manual_seed(0))
    save_file({**weights, "linear.weight": projection}, str(folder / "model.safetensors"))
    (folder / "artifact.metadata").write_text(json.dumps({"query_token_id": "[unused0]", **metadata}))
    return load(str(folder)), projection


@pytest.mark.parametrize("attend", [True, False])
def test_colbert_queries_are_expanded_with_masks_that_are_attended_to_only_if_so_trained(tmp_path, attend):
    ranker, projection = colbert(tmp_path, query_maxlen=9, attend_to_mask_tokens=attend, mask_punctuation=False)
    query, document = (
        ranker.sequences([text], side)[0] for text, side in (("cat dog", "query"), ("a tree", "document"))
    )
    ids = torch.tensor([query.ids])
    mask = torch.ones_like(ids) if attend else (ids != ranker.mask_token).long()
    with torch.no_grad():
        q = tiny_model("bert")(input_ids=ids, attention_mask=mask).last_hidden_state[0]
        d = tiny_model("bert")(input_ids=torch.tensor([document.ids])).last_hidden_state[0]
    q, d = normalize(q @ projection.T, dim=-1), normalize(d @ projection.T, dim=-1)
    expected = float((q @ d.T).max(dim=1).values.sum())
    assert len(q) == 9
    scores = ranker.score([("cat dog", "a tree"), ("cat dog", "the cat sat on the mat in berlin")])
    assert scores[0] == pytest.approx(expected, abs=1e-4)


def test_colbert_cuts_queries_and_documents_to_its_own_lengths(tmp_path):
    ranker, _ = colbert(tmp_path, query_maxlen=9, doc_maxlen=12)
    assert len(ranker.sequences(["cat " * 20], "query")[0]) == 9
    assert len(ranker.sequences(["cat " * 30], "document")[0]) == 12
    assert ranker.scores([("cat", "cat " * 30)]).cut == 1


def test_several_dense_modules_are_chained_and_others_refused(tmp_path):
    save(tmp_path)
    first, second = torch.randn(12, 16), torch.randn(5, 12)
    for number, matrix in enumerate((first, second), start=1):
        (tmp_path / f"{number}_Dense").mkdir()
        save_file({"linear.weight": matrix}, str(tmp_path / f"{number}_Dense" / "model.safetensors"))
    torch.testing.assert_close(load(str(tmp_path), kind="late-interaction").projection, second @ first)
    save_file(
        {"linear.weight": second, "linear.bias": torch.ones(5)}, str(tmp_path / "2_Dense" / "model.safetensors")
    )
    with pytest.raises(UserError, match="plain projection"):
        load(str(tmp_path), kind="late-interaction")


def test_colbert_checkpoints_bring_projection_markers_and_query_length(tmp_path):
    ranker, _ = colbert(tmp_path, query_maxlen=9)
    assert ranker.kind == "late-interaction"
    query, document = (ranker.sequences(["cat dog"], side)[0] for side in ("query", "document"))
    names = ranker.pieces.tokenizer.id_to_token
    assert [names(i) for i in query.ids] == ["[CLS]", "[unused0]", "cat", "dog", "[SEP]"] + ["[MASK]"] * 4
    assert [names(i) for i in document.ids] == ["[CLS]", "[unused1]", "cat", "dog", "[SEP]"]
    assert ranker.score(PAIRS).shape == (4,)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_sparse_is_a_dot_product_of_saturated_logits(tmp_path, architecture):
    model = tiny_model(architecture, "AutoModelForMaskedLM")
    ranker = load(str(save(tmp_path, architecture, "AutoModelForMaskedLM")), kind="sparse")

    def weigh(text):
        with torch.no_grad():
            logits = model(**their_inputs(architecture, [text])).logits[0]
        return torch.log(1 + torch.relu(logits)).max(dim=0).values

    expected = [float(weigh(query) @ weigh(document)) for query, document in PAIRS]
    np.testing.assert_allclose(ranker.score(PAIRS), expected, rtol=1e-5, atol=1e-5)


def test_a_text_that_recurs_is_encoded_once(tmp_path, monkeypatch):
    ranker, seen = load(str(save(tmp_path))), []
    run = ranker.encoder.run
    monkeypatch.setattr(
        ranker.encoder, "run", lambda inputs, **how: (seen.append(len(inputs.ids)), run(inputs, **how))[1]
    )
    ranker.score([("cat", "dog"), ("cat", "tree"), ("dog", "tree"), ("cat", "dog")])
    assert sum(seen) == 4  # the queries cat and dog, the documents dog and tree


def test_scores_do_not_depend_on_the_batch(tmp_path):
    ranker = load(str(save(tmp_path, head="AutoModelForSequenceClassification")), kind="cross-encoder")
    together = ranker.score(PAIRS)
    alone = np.concatenate([ranker.score([pair]) for pair in PAIRS])
    np.testing.assert_allclose(together, alone, atol=1e-5)


def test_progress_counts_every_pair_once(tmp_path):
    for kind, head in (("cross-encoder", "AutoModelForSequenceClassification"), ("bi-encoder", "AutoModel")):
        ranker, scored = load(str(save(tmp_path / kind, head=head)), kind=kind), []
        ranker.score(PAIRS * 5, progress=scored.append)
        assert sum(scored) == 20
