"""Real weights: the check scores that the models' owners would get, and equality with Hugging Face's own model."""

import numpy as np
import pytest
import torch
import transformers

from whyrank.encoders.inputs import Inputs
from whyrank.encoders.site import Site

QUERY = "How many people live in Berlin?"
DOCUMENTS = [
    "Berlin has a population of 3,520,031 registered inhabitants in an area of 891.82 square kilometers.",
    "Berlin is well known for its museums.",
    "New York City is famous for the Metropolitan Museum of Art.",
]
LONG = " ".join(DOCUMENTS * 30)


@pytest.mark.parametrize(
    ("name", "expected", "tolerance"),
    [
        ("ce-minilm-l12", [9.27, -3.93, -11.19], 0.05),
        ("bi-bge-small", [0.840, 0.697, 0.477], 0.005),
        ("bi-minilm-l6", [0.767, 0.539, 0.153], 0.005),
        ("bi-minilm-l3", [0.741, 0.564, 0.249], 0.005),
        ("bi-e5-small", [0.904, 0.790, 0.712], 0.005),
        ("li-colbert-small", [9.14, 8.20, 7.45], 0.02),
        ("bi-mpnet-base", [0.686, 0.546, 0.269], 0.005),
    ],
)
def test_check_scores(real, name, expected, tolerance):
    scores = real(name).score([(QUERY, document) for document in DOCUMENTS])
    np.testing.assert_allclose(scores, expected, atol=tolerance)


@pytest.mark.parametrize("name", ["ce-minilm-l12", "bi-bge-small", "bi-minilm-l6", "bi-mpnet-base"])
def test_hidden_states_equal_hugging_faces(real, name):
    ranker = real(name)
    sequences = ranker.pieces.texts([*DOCUMENTS, LONG, "x"])
    for batch in (sequences, sequences[:1], sequences[3:4]):
        inputs = Inputs.of(batch, ranker.pieces.pad_id)
        with torch.no_grad():
            types = {} if name == "bi-mpnet-base" else {"token_type_ids": inputs.types}
            theirs = ranker.encoder.anatomy.module(
                input_ids=inputs.ids, attention_mask=inputs.attention_mask.long(), **types
            ).last_hidden_state
            ours = ranker.encoder.run(inputs).hidden
        real_tokens = inputs.attention_mask
        torch.testing.assert_close(ours[real_tokens], theirs[real_tokens], atol=1e-5, rtol=0)


def test_cross_encoder_scores_equal_hugging_faces_with_token_types(real):
    ranker = real("ce-minilm-l12")
    tokenizer = transformers.AutoTokenizer.from_pretrained(ranker.checkpoint.folder)
    pairs = [(QUERY, document) for document in [*DOCUMENTS, LONG]]
    encoded = tokenizer(*map(list, zip(*pairs, strict=True)), padding=True, truncation=True, return_tensors="pt")
    assert encoded["token_type_ids"].any()
    with torch.no_grad():
        theirs = ranker.model(**encoded).logits[:, 0].numpy()
    scores = ranker.scores(pairs)
    np.testing.assert_allclose(scores.values, theirs, atol=2e-5)
    assert scores.cut == 1


@pytest.mark.parametrize("name", ["ce-minilm-l12", "bi-minilm-l6", "bi-bge-small", "li-colbert-small"])
def test_a_trace_has_the_same_scores_as_scoring(real, name):
    pairs, ranker = [(QUERY, document) for document in DOCUMENTS], real(name)
    for side in ("document", "query"):
        with torch.no_grad():
            trace = ranker.trace(pairs, side=side, read=[Site.parse("logits"), Site.parse("L2.H1.z@cls")])
        np.testing.assert_allclose(trace.scores.numpy(), ranker.score(pairs), atol=2e-5)
        assert torch.equal(trace.values[Site.parse("logits")], trace.scores)
        assert trace.values[Site.parse("L2.H1.z@cls")].shape == (3, 32)


def test_sentence_transformers_returns_the_same_cross_encoder_scores(real):
    from sentence_transformers import CrossEncoder

    ranker = real("ce-minilm-l12")
    pairs = [(QUERY, document) for document in DOCUMENTS]
    theirs = CrossEncoder(str(ranker.checkpoint.folder), device="cpu").predict(pairs)
    np.testing.assert_allclose(ranker.score(pairs), theirs, atol=1e-4)


def test_ranking_names_and_numbers_its_documents(real):
    ranker = real("bi-minilm-l6")
    ranking = ranker.rank(QUERY, {"zoo": DOCUMENTS[2], "people": DOCUMENTS[0], "museums": DOCUMENTS[1]})
    assert [(one.rank, one.docno) for one in ranking] == [(1, "people"), (2, "museums"), (3, "zoo")]
    assert list(ranking.to_pandas().columns) == ["query", "docno", "text", "score", "rank"]
    assert ranker.rank(QUERY, DOCUMENTS)[0].docno == "0"


def test_a_data_frame_comes_back_ranked_as_pyterrier_would_have_it(real):
    import pandas as pd

    rows = [("2", QUERY, f"d{i}", text) for i, text in enumerate(DOCUMENTS)]
    rows += [("1", "museum", f"d{i}", text) for i, text in enumerate(DOCUMENTS)]
    frame = pd.DataFrame(rows, columns=["qid", "query", "docno", "text"])
    ranked = real("bi-minilm-l6").transform(frame)
    assert list(ranked["qid"]) == ["1"] * 3 + ["2"] * 3
    assert list(ranked["rank"]) == [0, 1, 2, 0, 1, 2]
    assert ranked.groupby("qid")["score"].is_monotonic_decreasing.all()
    assert ranked[ranked["qid"] == "2"]["docno"].iloc[0] == "d0"


def test_the_fingerprint_follows_the_weights_and_nothing_else(real):
    ranker = real("bi-minilm-l3")
    before = ranker.fingerprint()
    ranker.score([("cat", "dog")])
    assert ranker.fingerprint() == before
    row = ranker.encoder.word_embeddings[2000]
    with torch.no_grad():
        kept = row.clone()
        row += 1
        assert ranker.fingerprint() != before
        row.copy_(kept)  # to the last bit: other tests share this ranker
