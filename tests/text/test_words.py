"""What counts as a word, where it stands, and which terms it becomes."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whyrank.core.errors import UserError
from whyrank.text import Analyzer, word_spans, words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Berlin has 3.5 million people.", ["berlin", "has", "3", "5", "million", "people"]),
        ("Don't say 'quoted' to O’Neill", ["don't", "say", "quoted", "to", "o'neill"]),
        ("snake_case and state-of-the-art", ["snake", "case", "and", "state", "of", "the", "art"]),
        ("Straße ÉCOLE 東京", ["straße", "école", "東京"]),
        ("cafe\u0301 हिन्दी", ["cafe\u0301", "हिन्दी"]),
        ("", []),
        (" ?! '' _ \u0301", []),
    ],
)
def test_words_are_lower_cased_runs_of_letters_and_digits(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_a_span_gives_back_the_characters_of_its_word() -> None:
    text = "It’s İstanbul"
    assert word_spans(text) == [("it's", 0, 4), ("i̇stanbul", 5, 13)]


@given(st.text())
def test_spans_are_in_order_apart_and_agree_with_words(text: str) -> None:
    spans = word_spans(text)
    assert [span.word for span in spans] == words(text)
    assert all(0 <= s.start < s.end <= len(text) for s in spans)
    assert all(before.end <= after.start for before, after in pairwise(spans))


@given(st.text())
def test_the_words_of_the_words_are_the_words(text: str) -> None:
    assert words(" ".join(words(text))) == words(text)


def test_an_analyzer_stems_and_keeps_stop_words_by_default() -> None:
    assert Analyzer()("The dogs' running, the dog's runs") == ["the", "dog", "run", "the", "dog", "run"]


def test_an_analyzer_can_leave_stop_words_out_and_words_whole() -> None:
    assert Analyzer(stem=None, stopwords="english")("The dogs are running") == ["dogs", "running"]


def test_an_analyzer_prints_as_it_is_made_and_compares_by_value() -> None:
    analyzer = Analyzer(stopwords="english")
    assert eval(repr(analyzer)) == analyzer
    assert hash(analyzer) == hash(Analyzer(stopwords="english"))


def test_an_unknown_stemmer_is_refused() -> None:
    with pytest.raises(UserError, match="stem cannot be 'klingon'"):
        Analyzer(stem="klingon")  # type: ignore[arg-type]
