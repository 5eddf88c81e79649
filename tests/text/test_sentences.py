"""Sentences by rule."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from whyrank.text.sentences import sentence_spans, sentences


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("Dr. Smith went. He came back.", ["Dr. Smith went.", "He came back."]),
        ('She said "Go." Then she left.', ['She said "Go."', "Then she left."]),
        ("It costs 3.50 dollars. Cheap.", ["It costs 3.50 dollars.", "Cheap."]),
        ("no end", ["no end"]),
        ("  ", []),
    ],
)
def test_examples(text, expected):
    assert sentences(text) == expected


@given(some.text(alphabet="ab. A!\n'", max_size=60))
def test_nothing_but_white_space_lies_between_sentences(text):
    spans = sentence_spans(text)
    ends = [0, *(end for _, end in spans)]
    starts = [*(start for start, _ in spans), len(text)]
    assert all(not text[a:b].strip() for a, b in zip(ends, starts, strict=True))
