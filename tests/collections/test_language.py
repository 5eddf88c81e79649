"""Stems by language: from the collection to BM25, its IDF, and what is derived from it."""

import pytest
import Stemmer

from whyrank.axioms.make import Choices, PairMaker
from whyrank.axioms.pool import Pool
from whyrank.axioms.registry import parse_axioms
from whyrank.collections import BM25Index, first_stage
from whyrank.collections.collection import Collection
from whyrank.collections.opening import collection
from whyrank.core.errors import UserError
from whyrank.rankers.load import load
from whyrank.text.words import Analyzer, languages, words

DOCUMENTS = {
    "d1": "Die Katze schläft in den Häusern",
    "d2": "Der Hund bellte will was",
    "d3": "Ein Vogel singt und die Katzen schlafen",
}
ENGLISH = Collection.from_records("tiere", DOCUMENTS, {"q1": "Katzen", "q2": "Haus", "q3": "bellte will"})
GERMAN = collection(ENGLISH, language="german")


@pytest.mark.parametrize("language", ["german", "french", "russian", "turkish"])
def test_the_stems_are_snowballs(language) -> None:
    text = "Katzen schlafen Häusern les maisons continuellement кошками evlerimizden"
    assert Analyzer.of(language)(text) == Stemmer.Stemmer(language).stemWords(words(text))
    assert eval(repr(Analyzer.of(language))) == Analyzer(stem=language)


def test_two_languages_in_one_thread_are_kept_apart() -> None:
    both = [Analyzer.of(language)("sleeping Katzen") for language in ("english", "german", "english")]
    assert both[0] == both[2] != both[1]


def test_the_first_stage_finds_what_the_language_joins() -> None:
    assert {row.docno for row in first_stage(ENGLISH)["q1"]} == {"d3"}
    found = first_stage(GERMAN)
    assert {row.docno for row in found["q1"]} == {"d1", "d3"}
    assert {row.docno for row in found["q2"]} == {"d1"} and not first_stage(ENGLISH)["q2"]


def test_the_ranker_and_the_idf_count_the_same_stems() -> None:
    ranker, index = load("bm25", collection=GERMAN), BM25Index(GERMAN)
    by_hand = BM25Index(ENGLISH, analyzer=Analyzer(stem="german"))
    for text in DOCUMENTS.values():
        assert ranker.score([("Katzen", text)])[0] == by_hand.score("Katzen", text)
    assert ranker.fingerprint() != load("bm25", collection=ENGLISH).fingerprint()
    assert Pool(GERMAN).idf("Katzen") == index.idf("katz") != Pool(ENGLISH).idf("Katzen")


def test_english_stop_words_are_words_elsewhere() -> None:
    assert Pool(ENGLISH).terms("q3") == ("bellte",)
    assert set(Pool(GERMAN).terms("q3")) == {"bellte", "will"}


def test_none_is_whole_words() -> None:
    whole = collection(ENGLISH, language="none")
    assert {row.docno for row in first_stage(whole)["q1"]} == {"d3"}
    assert (whole.language, BM25Index(whole).df("katzen")) == ("none", 1)


def test_the_language_is_part_of_the_content_and_stays_with_other_queries() -> None:
    prints = {collection(ENGLISH, language=one).fingerprint() for one in ("english", "german", "none")}
    assert len(prints) == 3 and ENGLISH.fingerprint() in prints
    other = GERMAN.about({"q": "Hund"}, {})
    assert (other.language, other.queries) == ("german", {"q": "Hund"})


@pytest.mark.parametrize("wrong", ["klingon", "de", "", "German"])
def test_an_unknown_language_is_refused_with_those_there_are(wrong) -> None:
    with pytest.raises(UserError) as refused:
        collection("demo", language=wrong)
    assert f"no stemmer for the language {wrong!r}" in str(refused.value)
    assert all(language in str(refused.value) for language in (*languages(), "none"))


def test_the_forms_of_a_word_that_axioms_count_are_the_languages() -> None:
    axiom = parse_axioms("TFC1")[0]
    for opened, forms in ((GERMAN, 1), (ENGLISH, 0)):
        maker = PairMaker(Pool(opened, first_stage(GERMAN)), [], Choices())
        row = next(row for row in maker.pool.run["q1"] if row.docno == "d1")
        assert maker.material(axiom, row).forms("Katzen") == forms
