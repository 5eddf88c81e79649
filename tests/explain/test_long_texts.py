"""Long texts: only what is read is taken out, a bounded number of texts is scored, what is dropped is reported."""

import random

import numpy as np
import pytest

from tests.checkpoints import save
from tests.learning.small import cross_encoder
from tests.learning.tiny_training import plan
from whyrank.collections.collection import Collection
from whyrank.core.caller import Caller
from whyrank.core.errors import UserError
from whyrank.explain.api import explain
from whyrank.explain.parts import sentences_of
from whyrank.explain.removal import deleted
from whyrank.explain.scored import BUDGET
from whyrank.learning.trained import as_ranker
from whyrank.rankers.load import load
from whyrank.rankers.passages import BestPassage
from whyrank.rankers.ranker import Ranker, Scores, Source
from whyrank.text.words import word_spans, words

WORDS = ["cat", "dog", "sat", "mat", "berlin", "people", "live", "tree", "house", "runs", "fast", "red", "blue"]
QUERY = "how many people live in berlin"


def long_text(count, seed=0):
    """So many words in sentences of about ten."""
    draw = random.Random(seed)
    words = [draw.choice(WORDS) for _ in range(count)]
    return " ".join(word.title() + "." if i % 10 == 9 else word for i, word in enumerate(words))


@pytest.fixture(scope="module")
def rankers(tmp_path_factory):
    """One of each way to read a long document; texts are cut at a few dozen tokens."""
    folder = tmp_path_factory.mktemp("rankers")
    save(folder / "bi")
    cross = cross_encoder(folder / "cross")
    return {
        "cross-encoder": cross,
        "bi-encoder": load(str(folder / "bi")),
        "best passage": BestPassage(cross),
        **{
            name: as_ranker((made := plan(folder, model=name, **settings)).new_network(0), made.backbone)
            for name, settings in {
                "bert": {"chunks": 2, "max_length": 20},
                "bert-maxp": {"chunks": 2, "passage": 8, "stride": 4, "max_length": 24},
                "drmm": {"max_length": 30},
            }.items()
        },
    }


FAMILIES = ["cross-encoder", "bi-encoder", "best passage", "bert", "bert-maxp", "drmm"]


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("query", ["cat", QUERY])
def test_what_is_read_is_what_the_score_depends_on(rankers, name, query):
    ranker, text = rankers[name], long_text(120)
    read = ranker.characters_read(query, text)
    assert ranker.characters_read(query, "a red cat") == len("a red cat")
    if name == "best passage":
        assert read == len(text)
        return
    assert 0 < read < len(text)
    other = text[:read] + " " + long_text(120, seed=1)
    shorter = text[: text.rindex(" ", 0, read)]
    whole, changed, cut = ranker.score([(query, text), (query, other), (query, shorter[: shorter.rindex(" ")])])
    assert whole == pytest.approx(changed, abs=1e-6), "nothing after it matters"
    assert abs(whole - cut) > 1e-6, "what is before it does"


@pytest.mark.parametrize("name", FAMILIES)
def test_effects_are_those_of_the_whole_text_and_only_of_what_is_read(rankers, name):
    ranker, text = rankers[name], long_text(120)
    found = explain(ranker, QUERY, text, remove="delete")
    read = ranker.characters_read(QUERY, text)
    assert found.coverage.words == 120
    assert len(found.words) == found.coverage.read == sum(word.start < read for word in word_spans(text))
    pairs = [(QUERY, text), *((QUERY, deleted(text, [(word.start, word.end)])) for word in found.words)]
    scores = ranker.score(pairs)
    np.testing.assert_allclose([word.effect for word in found.words], scores[0] - scores[1:], atol=1e-5)
    sentences = found.in_words()
    assert ("words; the others have no part in the score" in sentences) == (name != "best passage")


def test_five_thousand_words_are_bounded_and_watched(rankers):
    steps = []

    class Step:
        def __init__(self, name, count, unit):
            steps.append([name, count, 0])

        def __enter__(self):
            return self.advance

        def __exit__(self, *_):
            return None

        def advance(self, count):
            steps[-1][2] += count

    text = long_text(5000)
    for ranker in (rankers["cross-encoder"], rankers["best passage"]):
        steps.clear()
        found = explain(ranker, QUERY, text, budget=200, caller=Caller(progress=Step))
        assert found.coverage.calls <= 200 and found.coverage.words == 5000
        assert sum(done for *_, done in steps) >= found.coverage.calls
        assert all(count == done or name == "words together" for name, count, done in steps)
        assert all(done <= count for _, count, done in steps)
    assert [name for name, *_ in steps][:3] == ["query words", "sentences", "words"]
    assert found.coverage.read == 5000 > found.coverage.tried > 50
    assert f"Of 5000 words, {found.coverage.tried} were taken away one by one" in found.in_words()


def test_the_words_that_matter_are_found_among_five_thousand():
    """A ranker that reads all: the two words that it scores stand in one sentence of five hundred."""
    filler = " ".join(f"w{i}" + ("." if i % 10 == 9 else "") for i in range(2500)).replace(". w", ". W")
    text = f"{filler} A red cat sat here. {filler}"
    collection = Collection.from_records("t", {"a": "red cat", "b": "blue dog", "c": "a dog"}, {"1": "cat"})
    found = explain(load("bm25", collection=collection), "red cat", text)
    assert found.coverage.calls <= BUDGET and found.coverage.read == 5005
    assert {term.word for term in found.terms[:2]} == {"red", "cat"} and found.terms[0].effect > 0
    best = max(found.sentences, key=lambda one: one.effect)
    assert "red cat" in text[best.start : best.end]
    assert len(found.sentences) <= BUDGET // 4


def test_words_that_matter_only_together_are_looked_for_where_not_all_words_can_be_tried():
    """The ranker asks for a cat or a dog, whichever, and a little for all else; both stand in one sentence."""

    class Either(Ranker):
        kind, name, source = "test", "either", Source("a test", "exact")

        def fingerprint(self):
            return "either"

        def scores(self, pairs, progress=None):
            held = [words(text) for _, text in pairs]
            return Scores(np.array([bool({"cat", "dog"} & set(one)) + 1e-4 * len(one) for one in held]), cut=0)

    text = " ".join(f"w{i}" + ("." if i % 10 == 9 else "") for i in range(600)).replace(". w", ". W")
    found = explain(Either(), "a pet", f"{text} The cat and dog sat. {text}", remove="delete")
    assert found.coverage.tried < found.coverage.read == 1205 and found.coverage.calls <= BUDGET
    assert {"cat", "dog"} in [set(one.words) for one in found.joint]


def test_sentences_have_bounds_of_their_own():
    text = "one two three. " * 3 + "word " * 100
    words = word_spans(text)
    spans = sentences_of(text, words, most=100)
    assert sum(len(word_spans(text[a:b])) for a, b in spans) == len(words)
    assert max(len(word_spans(text[a:b])) for a, b in spans) <= 40
    few = sentences_of(text, words, most=2)
    assert len(few) == 2 and few[0][0] == 0 and few[-1][1] == words[-1].end


def test_a_long_query_is_bounded_too(rankers):
    query = " ".join(f"{word}{i}" for i in range(10) for word in WORDS)
    found = explain(rankers["bi-encoder"], query, "a red cat", budget=40)
    assert found.coverage.calls <= 40 and len(found.query_terms) == 10
    assert "120 words of the query were not taken away." in found.in_words()
    with pytest.raises(UserError, match="3 scored texts cannot explain a score; give 20 or more"):
        explain(rankers["bi-encoder"], query, "a red cat", budget=3)


@pytest.mark.parametrize("name", ["cross-encoder", "bi-encoder"])
def test_a_query_longer_than_the_model_is_said_to_be_cut(rankers, name):
    """What is said to be read is what the score depends on."""
    query = " ".join(f"{word}{i}" for i in range(10) for word in WORDS)
    ranker, text = rankers[name], "a red cat"
    found = explain(ranker, query, text)
    read = 130 - found.coverage.query_unread
    assert 0 < read < 130
    assert f"{found.ranker} reads the first {read} of the query's 130 words." in found.verdict()
    kept = " ".join(query.split()[:read])
    whole, other, shorter = ranker.score(
        [(query, text), (f"{kept} {long_text(130)}", text), (kept.rsplit(" ", 1)[0], text)]
    )
    assert whole == pytest.approx(other, abs=1e-5) and abs(whole - shorter) > 1e-6
    assert {one.word for one in found.query_terms} <= set(kept.split())


def test_the_figure_of_a_long_text_shows_what_matters(tmp_path):
    text = f"{long_text(2500)} A zebra sat here. {long_text(2500, seed=1)}"
    collection = Collection.from_records("t", {"a": "red zebra", "b": "blue dog", "c": "a dog"}, {"1": "cat"})
    found = explain(load("bm25", collection=collection), "zebra", text)
    page = found.draw(tmp_path / "why.svg").read_text()
    assert "zebra" in page and "…" in page
    assert len(page) < 1_000_000
    assert len(found.chunks()) == 5004


@pytest.mark.parametrize("budget", [20, 40, 100])
def test_what_was_cut_off_is_told_even_where_words_take_all_the_budget(rankers, budget):
    found = explain(rankers["cross-encoder"], QUERY, long_text(300), budget=budget)
    assert found.coverage.calls <= budget
    assert found.truncation is not None and found.truncation.best_start >= 0
