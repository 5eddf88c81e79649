"""A token of its own for a word: only texts that hold the word move, it loads everywhere with the same scores."""

import json

import numpy as np
import pytest
import torch
import transformers

import whyrank
from tests.checkpoints import save
from tests.edits.dialed import cross_encoder, dialed
from tests.edits.products import DOCUMENTS, PRODUCTS, every_document
from whyrank.core.errors import UserError
from whyrank.edits.dial import Dial
from whyrank.edits.edit import Edit
from whyrank.edits.new_token import extended, fit
from whyrank.edits.results import EditPreview
from whyrank.edits.unedited import Unedited
from whyrank.rankers.load import load

PAIRS = [(query, text) for query in ("water jacket", "waterproof boots") for text in DOCUMENTS.values()]
HOLDS = np.array(["waterproof" in f"{query} {text}".lower() for query, text in PAIRS])


@pytest.mark.parametrize("name", ["bi-minilm-l3", "ce-minilm-l12"])
def test_only_texts_with_the_word_move_and_the_row_is_the_pieces_mean(real, name):
    ranker = real(name)
    made = extended(Dial.of(ranker), ["waterproof", "water"])
    (token,) = made.tokens
    assert token.term == "waterproof" and token.pieces == ("water", "##proof"), "water is one token already"
    rows = ranker.encoder.word_embeddings.detach()
    ids = [ranker.pieces.tokenizer.token_to_id(piece) for piece in token.pieces]
    new = made.ranker.encoder.word_embeddings.detach()
    assert token.token == len(rows) and torch.equal(new[:-1], rows)
    torch.testing.assert_close(new[-1], rows[ids].mean(dim=0))
    v = np.linalg.svd(rows.double().numpy(), full_matrices=False)
    u0 = new[-1].double().numpy() @ v[2][0] / v[1][0]
    assert abs(token.u0) == pytest.approx(abs(u0), rel=1e-6)
    before, after = ranker.score(PAIRS), made.ranker.score(PAIRS)
    np.testing.assert_allclose(before[~HOLDS], after[~HOLDS], atol=1e-5)
    assert (np.abs(before - after)[HOLDS] > 1e-4).all()
    whole = made.ranker.pieces.tokenizer.encode("Waterproof, waterproofed", add_special_tokens=False).tokens
    assert whole == ["waterproof", ",", "water", "##proof", "##ed"]


def test_a_preview_with_a_new_token_moves_no_sharer_and_saves_what_it_shows(real, tmp_path):
    from sentence_transformers import SentenceTransformer

    ranker = real("bi-minilm-l3")
    how = {"collection": PRODUCTS, "run": every_document(), "depth": len(DOCUMENTS), "new_token": "fitted"}
    found = whyrank.edit(ranker, "up waterproof=2sd", **how, out=tmp_path / "run", save=tmp_path / "new")
    assert found.new_tokens.row == "fitted" and found.new_tokens.fitted_on == 15 and found.new_tokens.pairs == 15
    assert "is one token now. That alone" in str(found.new_tokens) and found.shared == ()
    before = {(row.qid, row.docno): row.score for rows in found.before.values() for row in rows}
    after = {(row.qid, row.docno): row.score for rows in found.after.values() for row in rows}
    moved = {key: after[key] - before[key] for key in before}
    holds = {docno: "waterproof" in text.lower() for docno, text in DOCUMENTS.items()}
    assert all((abs(moved[key]) > 1e-6) == holds[key[1]] for key in moved)
    assert found.encode_again == tuple(docno for docno, held in holds.items() if held)
    # what is saved: whyrank, transformers and sentence-transformers have the preview's scores
    again, qid = load(str(tmp_path / "new")), "q1"
    scores = again.score([("water jacket", text) for text in DOCUMENTS.values()])
    np.testing.assert_allclose(scores, [after[qid, docno] for docno in DOCUMENTS], atol=1e-5)
    theirs = SentenceTransformer(str(tmp_path / "new"))
    vectors = theirs.encode(["water jacket", *DOCUMENTS.values()])
    wanted = [again.score([("water jacket", text)])[0] for text in DOCUMENTS.values()]
    similar = theirs.similarity(vectors[:1], vectors[1:])[0].numpy()
    np.testing.assert_allclose(similar, wanted, atol=1e-5)
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "new")
    assert tokenizer.tokenize("waterproof parka") == ["waterproof", "park", "##a"]
    record = json.loads((tmp_path / "new" / "edits.json").read_text())
    assert record["new_tokens"][0]["term"] == "waterproof" and record["earlier"] is None
    # finished work has its rows: saved again it is the same
    read = whyrank.edit(ranker, "up waterproof=2sd", **how, out=tmp_path / "run", save=tmp_path / "twice")
    assert read == found == EditPreview.read(tmp_path / "run")
    files = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("new", "twice")]
    assert files[0] == files[1]


def test_a_cross_encoder_with_a_new_token_loads_everywhere(real, tmp_path):
    from sentence_transformers import CrossEncoder

    ranker = real("ce-minilm-l12")
    found = whyrank.edit(ranker, "up waterproof=1sd", new_token="mean", save=tmp_path / "new")
    assert found.new_tokens.pairs == 0 and "is not known" in " ".join(found.verdict())
    with found.apply() as edited:
        scores = edited.score(PAIRS)
    assert load(str(tmp_path / "new")).score(PAIRS) == pytest.approx(scores, abs=1e-5)
    theirs = CrossEncoder(str(tmp_path / "new")).predict(PAIRS, activation_fn=torch.nn.Identity())
    np.testing.assert_allclose(theirs, scores, atol=1e-4)


def test_fitted_rows_move_scores_less_also_of_other_pairs(real):
    ranker = real("bi-minilm-l3")
    made = extended(Dial.of(ranker), ["waterproof"])
    unedited = Unedited.ranked(ranker, PRODUCTS, every_document(), depth=len(DOCUMENTS))
    places = [i for i, (_, text) in enumerate(unedited.pairs) if "waterproof" in text.lower()]
    some, others = places[::2], places[1::2]

    def shift(chosen):
        return np.abs(made.ranker.score([unedited.pairs[i] for i in chosen]) - unedited.scores[chosen]).mean()

    before = shift(some), shift(others)
    rows = fit(made, [unedited.pairs[i] for i in some], unedited.scores[some])
    assert made.ranker.encoder.word_embeddings.detach()[-1].tolist() == pytest.approx(rows[0])
    assert shift(some) < before[0] / 4 and shift(others) < before[1] / 2
    assert not made.ranker.encoder.word_embeddings.requires_grad or ranker.encoder.word_embeddings.requires_grad


def test_a_byte_level_tokenizer_takes_the_blank_with_the_word(tmp_path):
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    from tests.tiny import tiny_model

    pieces = ["<s>", "</s>", "<pad>", "<unk>", "a", "Ġa", "Ġwater", "proof", "Ġproof", "water", "Ġ", "p", "w", "t"]
    one = Tokenizer(models.BPE({piece: i for i, piece in enumerate(pieces)}, [], unk_token="<unk>"))
    one.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    one.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 1)]
    )
    fast = PreTrainedTokenizerFast(tokenizer_object=one, unk_token="<unk>", pad_token="<pad>", cls_token="<s>",
                                   sep_token="</s>")  # fmt: skip
    tiny_model("distilbert", "AutoModel").save_pretrained(tmp_path)
    fast.save_pretrained(tmp_path)
    from whyrank.edits.new_token import _add_to_tokenizer

    _add_to_tokenizer(tmp_path, {"tap": len(pieces)})
    again = transformers.AutoTokenizer.from_pretrained(tmp_path).backend_tokenizer
    assert again.encode("a tap a", add_special_tokens=False).ids.count(len(pieces)) == 1


def test_what_it_refuses(real, tmp_path):
    tiny = cross_encoder(tmp_path / "tiny")
    with pytest.raises(UserError, match="every edited term is one token already"):
        extended(dialed(tiny), ["cat"])
    with pytest.raises(UserError, match="'red tree' is not a single word"):
        extended(dialed(tiny), ["red tree"])
    with pytest.raises(UserError, match="unknown new_token 'median'; choose mean or fitted"):
        whyrank.edit(tiny, "up cat=1sd", new_token="median")
    with pytest.raises(UserError, match="new_token fitted needs a preview"):
        whyrank.edit(tiny, "up cat=1sd", new_token="fitted")
    splade = load(str(save(tmp_path / "splade", head="AutoModelForMaskedLM")), kind="sparse")
    with pytest.raises(UserError, match="cannot learn a new one by an edit"):
        extended(dialed(splade), ["red tree"])
    assert Edit.parse("up cat=1sd")
