"""How a family computes its score: exact accounts sum to it; joint effects are differences of real scores."""

import re

import numpy as np
import pytest
import torch
from scipy.stats import pearsonr

from tests.checkpoints import save
from whyrank.circuits import known
from whyrank.circuits.head import Head
from whyrank.collections.collection import Collection
from whyrank.core.errors import UserError
from whyrank.edits.dial import Dial
from whyrank.explain.api import explain
from whyrank.explain.model_idf import ModelIdf
from whyrank.rankers.load import load

COLLECTION = Collection.from_records("t", {"a": "red cat", "b": "blue dog tree", "c": "the dog"}, {"1": "cat"})
QUERY, TEXT = "red cat", "The cat saw a red dog."


def test_bm25_sums_to_its_score():
    found = explain(load("bm25", collection=COLLECTION), QUERY, TEXT)
    how = found.mechanism
    assert how.exact and how.rest == pytest.approx(0)
    assert sum(one.contribution for one in how.parts) == pytest.approx(found.score)
    assert {one.query: one.match for one in how.parts} == {"red": 1, "cat": 1}


def test_late_interaction_is_maxsim_by_hand(tmp_path):
    ranker = load(str(save(tmp_path)), kind="late-interaction", projection="none")
    found = explain(ranker, QUERY, TEXT)
    how = found.mechanism
    assert how.exact and sum(one.contribution for one in how.parts) + how.rest == pytest.approx(
        found.score, abs=1e-4
    )
    trace = {side: ranker.encode([text], side)[0][0] for side, text in (("query", QUERY), ("document", TEXT))}
    best = (trace["query"] @ trace["document"].T).max(dim=1).values
    tokens = ranker.query_tokens(QUERY)
    for part in how.parts:
        start = QUERY.index(part.query)
        mine = tokens.within((start, start + len(part.query)))
        assert part.contribution == pytest.approx(float(best[mine].sum()), abs=1e-5)
        assert TEXT[part.start : part.end] == part.document
    special = [i for i, role in enumerate(tokens.roles) if role == "special"]
    assert how.rest == pytest.approx(float(best[special].sum()), abs=1e-4)


def test_sparse_products_sum_to_the_score(tmp_path):
    ranker = load(str(save(tmp_path, head="AutoModelForMaskedLM")), kind="sparse")
    found = explain(ranker, QUERY, TEXT)
    how = found.mechanism
    assert how.exact and sum(one.contribution for one in how.parts) + how.rest == pytest.approx(
        found.score, abs=1e-4
    )
    for part in how.parts:
        assert part.contribution == pytest.approx(part.weight * part.match, rel=1e-5)


def test_joint_effects_are_differences_of_four_scores(real):
    ranker, query = real("bi-minilm-l3"), "yellow leaves"
    text = "Leaves turn yellow when roots are wet."
    found = explain(ranker, query, text)
    part = next(one for one in found.mechanism.parts if one.query == "yellow")
    assert part.document == "yellow" and text[part.start : part.end] == "yellow"
    word, no_query, no_text = found.filler, f"{found.filler} leaves", text.replace("yellow", found.filler)
    whole, a, b, both = ranker.score([(query, text), (no_query, text), (query, no_text), (no_query, no_text)])
    assert word and part.contribution == pytest.approx(whole - a, abs=1e-4)
    assert part.match == pytest.approx(whole - a - b + both, abs=1e-4)
    assert not found.mechanism.exact and "do not sum" in found.mechanism.note


def test_the_models_own_idf_orders_words_as_the_dial_does(real):
    ranker = real("ce-minilm-l12")
    rarity, dial = ModelIdf.of(ranker).share, Dial.of(ranker)
    words = ["the", "of", "water", "yellow", "berlin", "fungus"]
    u0 = [float(dial.u0[ranker.pieces.tokenizer.token_to_id(word)]) for word in words]
    assert np.array_equal(np.argsort([rarity(word) for word in words]), np.argsort(u0)[::-1])
    assert 0 <= rarity("the") < rarity("fungus") <= 1


def eager_attention(ranker, query, text):
    """Hugging Face's own attention, [L, H, S, S], and the token types."""
    inputs = ranker.batch(ranker.pieces.pairs([(query, text)]))
    ranker.model.set_attn_implementation("eager")
    try:
        with torch.no_grad():
            found = ranker.model(input_ids=inputs.ids, token_type_ids=inputs.types, output_attentions=True)
    finally:
        ranker.model.set_attn_implementation("sdpa")
    return torch.cat(found.attentions), inputs.types[0]


def test_known_matching_heads_say_what_each_query_word_reads(real):
    ranker, query = real("ce-minilm-l12"), "yellow leaves"
    text = "Leaves turn yellow when roots are wet."
    how = explain(ranker, query, text).mechanism
    attention, types = eager_attention(ranker, query, text)
    document = [i for i, one in enumerate(types.tolist()) if one == 1][:-1]  # without the last [SEP]
    heads = [Head.parse(name) for name in known.MATCHING]
    for place, word in ((1, "yellow"), (2, "leaves")):
        read = sum(attention[head.layer, head.head, place] for head in heads)[document]
        part = next(one for one in how.parts if one.query == word)
        assert part.match == pytest.approx(float(read.sum()), abs=1e-4)
        assert part.document.lower() == word == text.lower().replace(".", "").split()[int(read.argmax())]
    assert how.match == "attention to the document" and how.weight == "model's IDF"


def test_how_far_the_account_follows_the_score_is_counted_by_hand(real):
    ranker, query = real("ce-minilm-l12"), "why do leaves turn yellow"
    text = "Leaves turn yellow when roots sit in wet soil for days."
    found = explain(ranker, query, text, matching="4.9,7.9")
    assert found.mechanism.covered.variants == 1 + len(found.query_terms) + len(found.terms)
    u0 = Dial.of(ranker).u0
    accounts, scores = [], []
    removed = [(query, text)]
    removed += [(_filled(query, one.word, found.filler), text) for one in found.query_terms]
    removed += [(query, _filled(text, one.word, found.filler)) for one in found.terms]
    for pair in removed:
        attention, types = eager_attention(ranker, *pair)
        ids = ranker.pieces.pair(*pair).ids
        asked = range(1, types.tolist().index(1) - 1)
        held = [i for i, one in enumerate(types.tolist()) if one == 1][:-1]
        read = attention[4, 9] + attention[7, 9]
        accounts.append(sum(-float(u0[ids[i]]) * float(read[i, held].sum()) for i in asked))
        scores.append(float(ranker.score([pair])[0]))
    assert found.mechanism.covered.r_squared == pytest.approx(pearsonr(accounts, scores)[0] ** 2, abs=1e-3)
    assert "of how the score changes over" in found.in_words()


def _filled(text, word, filler):
    """Each word of these texts is one token."""
    return re.sub(rf"(?i)\b{word}\b", filler, text)


def test_a_cross_encoder_whose_heads_are_not_known_is_explained_by_words_of_both_texts(tmp_path):
    ranker = load(str(save(tmp_path, head="AutoModelForSequenceClassification")), kind="cross-encoder")
    how = explain(ranker, QUERY, TEXT).mechanism
    assert how.covered is None and how.match == "joint effect"
    assert {one.query for one in how.parts} == set(how.matrix.query) == {"red", "cat"}


def test_the_matrix_of_a_bi_encoder_is_of_four_scores_each(real):
    ranker = real("bi-minilm-l3")
    found = explain(ranker, "yellow leaves", "Wet roots make leaves yellow.", remove="delete")
    matrix = found.mechanism.matrix
    assert set(matrix.query) == {"yellow", "leaves"} and set(matrix.document) == {
        "wet",
        "roots",
        "make",
        "leaves",
        "yellow",
    }
    i, j = matrix.query.index("leaves"), matrix.document.index("wet")
    pairs = [
        ("yellow leaves", "Wet roots make leaves yellow."), ("yellow ", "Wet roots make leaves yellow."),
        ("yellow leaves", "roots make leaves yellow."), ("yellow ", "roots make leaves yellow."),
    ]  # fmt: skip
    whole, a, b, both = ranker.score(pairs)
    assert matrix.values[i][j] == pytest.approx(whole - a - b + both, abs=1e-4)


def test_bm25_stands_beside_a_neural_ranker(real):
    ranker = real("bi-minilm-l3")
    texts = ["The cat saw a red dog.", "A blue tree.", "Dogs bark."]
    found = explain(ranker, "red cat", texts)
    bm25 = load("bm25", collection=Collection.from_records("h", dict(zip("abc", texts, strict=True)), {}))
    assert sum(one.contribution for one in found.bm25.parts) == pytest.approx(
        bm25.score([("red cat", found.document)])[0]
    )
    assert "the 3 candidates" in found.bm25.note
    assert explain(ranker, "red cat", texts[0]).bm25 is None
    assert any("BM25" in one.description for one in found.tree().details)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("bi-minilm-l3", {"matching": "0.1"}, "matching is for a cross-encoder"),
        ("bi-minilm-l3", {"semantic_bm": "x"}, "semantic_bm is for a cross-encoder"),
        ("ce-minilm-l12", {"matching": "77.1"}, "77"),
        ("ce-minilm-l12", {"semantic_bm": "nowhere"}, "nowhere"),
    ],
)
def test_what_a_ranker_does_not_have_is_refused(real, name, options, message):
    with pytest.raises(UserError, match=message):
        explain(real(name), QUERY, TEXT, **options)


def test_bm25_has_no_heads():
    with pytest.raises(UserError, match="has no heads"):
        explain(load("bm25", collection=COLLECTION), QUERY, TEXT, heads=True)
