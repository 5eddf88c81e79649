"""Word effects are differences of real scores; the sentences and the figure say what the numbers say."""

import json
import xml.etree.ElementTree as ET

import jsonschema
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from whyrank.collections.collection import Collection
from whyrank.core.caller import Caller
from whyrank.core.errors import UserError
from whyrank.explain.api import explain
from whyrank.explain.explanation import Explanation
from whyrank.explain.removal import deleted, removal
from whyrank.rankers.load import load
from whyrank.rankers.ranker import Ranker, Scores, Source
from whyrank.text.words import word_spans, words

COLLECTION = Collection.from_records("t", {"a": "red cat", "b": "blue dog tree", "c": "the dog"}, {"1": "cat"})
BM25 = load("bm25", collection=COLLECTION, k1=0.9, b=0.0)


@pytest.mark.parametrize("way", ["replace", "delete"])
def test_effects_of_bm25_without_length_are_its_terms_contributions(way):
    explanation = explain(BM25, "red cat", "The cat saw a red, red dog.", remove=way)
    effects = {term.word: term.effect for term in explanation.terms}
    shares = {term.term: term.contribution for term in BM25.explain("red cat", "The cat saw a red, red dog.")}
    assert effects["red"] == pytest.approx(shares["red"])
    assert effects["cat"] == pytest.approx(shares["cat"])
    assert effects["saw"] == effects["dog"] == 0
    assert {term.word: term.times for term in explanation.terms}["red"] == 2
    one_red = next(word for word in explanation.words if word.word == "red")
    assert 0 < one_red.effect < effects["red"], "the second one makes up for part of the first"
    assert explanation.terms[0].effect == max(effects.values())


def test_the_sentences_name_the_strongest_words():
    text = explain(BM25, "red cat", "The cat saw a red dog.").in_words()
    assert "The score is" in text
    assert "'red'" in text
    assert "'cat'" in text
    assert "saw" not in text


@given(some.text(max_size=60))
def test_deleting_every_word_leaves_no_word(text):
    spans = [(start, end) for _, start, end in word_spans(text)]
    assert words(deleted(text, spans)) == []


def test_white_space_that_is_not_the_words_own_stays():
    assert deleted("a\n\nb   c d", [(0, 1)]) == "b   c d"
    assert deleted("a\n\nb   c d", [(3, 4)]) == "a\n\nc d"


def test_a_text_of_one_word_can_be_explained():
    assert explain(BM25, "cat", "cat").terms[0].effect > 0


def test_a_text_without_words_is_refused():
    with pytest.raises(UserError, match="no word"):
        explain(BM25, "cat", "...")


@pytest.mark.parametrize("way", ["replace", "delete"])
def test_effects_of_a_real_cross_encoder_are_its_score_differences(real, way):
    ranker = real("ce-minilm-l12")
    text = "Berlin has 3.5 million inhabitants."
    explanation = explain(ranker, "how big is berlin", text, remove=way)
    other = {"delete": "has 3.5 million inhabitants.", "replace": "a has 3.5 million inhabitants."}[way]
    whole, no_berlin = ranker.score([("how big is berlin", text), ("how big is berlin", other)])
    assert explanation.score == pytest.approx(whole, abs=1e-4)
    berlin = next(term for term in explanation.terms if term.word == "berlin")
    np.testing.assert_allclose(berlin.effect, whole - no_berlin, atol=1e-4)
    assert explanation.terms[0].word == "berlin"


def test_the_figure_is_drawn_the_same_each_time_and_holds_the_words(tmp_path):
    explanation = explain(BM25, "red cat", "The cat saw a red dog for $5 & <b>more</b>.")
    first, again = explanation.draw(tmp_path / "1.svg"), explanation.draw(tmp_path / "2.svg")
    assert first.read_bytes() == again.read_bytes()
    shown = "".join(ET.fromstring(first.read_text()).itertext())
    assert "red cat" in shown
    assert "$5" in shown
    assert explanation.draw(tmp_path / "1.png").read_bytes()[:4] == b"\x89PNG"


def test_an_explanation_is_written_and_read_again(tmp_path):
    found = explain(BM25, "red cat", "The cat saw a red dog <b>here</b>.", out=tmp_path / "run")
    written = json.loads((tmp_path / "run" / "explanation.json").read_text())
    jsonschema.validate(written, Explanation.schema())
    assert Explanation.read(tmp_path / "run") == found == Explanation.from_json(found.to_json())
    assert list(found.to_pandas()["word"])[:2] == [term.word for term in found.terms[:2]]
    page = (tmp_path / "run" / "report.html").read_text()
    assert page.index("The score is") < page.index("<svg") and "&lt;b&gt;here" in page
    assert explain(BM25, "red cat", "The cat saw a red dog <b>here</b>.", out=tmp_path / "run") == found


def test_words_that_stand_in_for_each_other_are_found():
    """The ranker asks for a cat or a dog, whichever: alone neither matters."""

    class Either(Ranker):
        kind, name, source = "test", "either", Source("a test", "exact")

        def fingerprint(self):
            return "either"

        def scores(self, pairs, progress=None):
            return Scores(np.array([float(bool({"cat", "dog"} & set(words(text)))) for _, text in pairs]), cut=0)

    found = explain(Either(), "a pet", "One red cat sat here. We saw the big dog run. Nothing more to see.")
    assert {one.word: one.effect for one in found.terms}["cat"] == 0
    (joint,) = [one for one in found.joint if set(one.words) == {"cat", "dog"}]
    assert joint.effect == 1 and joint.single == 0
    assert "each partly replaces the others" in found.in_words()


def test_a_word_that_raises_and_one_that_lowers_do_not_stand_in_for_each_other():
    """'bad' lowers the score only where there is a cat: without both the score falls by what the cat adds."""

    class Spoiled(Ranker):
        kind, name, source = "test", "spoiled", Source("a test", "exact")

        def fingerprint(self):
            return "spoiled"

        def scores(self, pairs, progress=None):
            held = [set(words(text)) for _, text in pairs]
            return Scores(np.array([("cat" in one) * (2.0 - ("bad" in one)) for one in held]), cut=0)

    found = explain(Spoiled(), "a pet", "One bad cat sat here. Nothing more to see.")
    effects = {one.word: one.effect for one in found.terms}
    assert (effects["cat"], effects["bad"]) == (1, -1)
    assert found.joint == () and "each partly replaces" not in found.in_words()


def test_an_effect_that_is_written_as_nothing_is_not_named():
    class Weak(Ranker):
        kind, name, source = "test", "weak", Source("a test", "exact")

        def fingerprint(self):
            return "weak"

        def scores(self, pairs, progress=None):
            return Scores(np.array([0.001 * ("cat" in words(text)) for _, text in pairs]), cut=0)

    said = explain(Weak(), "a pet", "A red cat.").verdict()
    assert said == ["The score is 0.00.", "No word of the document changes it by 0.005 or more by itself."]


def test_the_document_is_named_by_its_id():
    hits = [{"id": "x", "text": "A red cat."}, {"id": "y", "text": "A dog."}]
    said = []
    found = explain(BM25, "red cat", hits=hits, caller=Caller(say=said.append))
    assert found.verdict()[0].startswith("x scores ")
    assert "x is explained: bm25 puts it first of 2" in said


@pytest.mark.parametrize("way", ["replace", "delete"])
def test_replacing_keeps_every_other_token_in_its_place(real, way):
    ranker, text = real("bi-minilm-l3"), "The waterproofing of houseplants, unbelievably, is yellowish."
    spans = [(span.start, span.end) for span in word_spans(text)]
    whole = ranker.document_tokens("q", text)
    for span in spans:
        other = ranker.document_tokens("q", removal(way, ranker, "q", text).document([span]))
        changed = set(whole.within(span))
        same = len(other) == len(whole) and all(
            a == b for i, (a, b) in enumerate(zip(whole.ids, other.ids, strict=True)) if i not in changed
        )
        assert same == (way == "replace")
