"""How a family computes its score: exact accounts sum to it; joint effects are differences of real scores."""

import numpy as np
import pytest

from tests.checkpoints import save
from whyrank.collections.collection import Collection
from whyrank.edits.dial import Dial
from whyrank.explain.api import explain
from whyrank.explain.mechanism import model_rarity
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


@pytest.mark.parametrize("name", ["bi-minilm-l3", "ce-minilm-l12"])
def test_joint_effects_are_differences_of_four_scores(real, name):
    ranker, query = real(name), "yellow leaves"
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
    rarity, dial = model_rarity(ranker), Dial.of(ranker)
    words = ["the", "of", "water", "yellow", "berlin", "fungus"]
    u0 = [float(dial.u0[ranker.pieces.tokenizer.token_to_id(word)]) for word in words]
    assert np.array_equal(np.argsort([rarity(word) for word in words]), np.argsort(u0)[::-1])
    assert 0 <= rarity("the") < rarity("fungus") <= 1
