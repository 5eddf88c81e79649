"""HTML in texts: counted, and taken out as a browser would show it."""

import pytest

from whyrank.text.markup import count_tags, without_markup


@pytest.mark.parametrize(
    ("text", "tags"),
    [("<p>One</p>", 2), ("a < b and c > d", 0), ("x <y> z", 1), ("5 <10 kg", 0), ("<!-- hidden -->", 1), ("", 0)],
)
def test_tags_are_counted_and_comparisons_are_not(text, tags):
    assert count_tags(text) == tags


def test_what_is_left_is_what_a_reader_sees():
    page = "<html><head><title>T</title></head><body><h1>Cats</h1><p>They &amp; dogs<br>sleep.</p>"
    page += "<script>var cat = '<b>';</script><style>p {}</style></body></html>"
    assert without_markup(page) == "Cats\nThey & dogs\nsleep."


def test_a_text_without_markup_keeps_its_words():
    assert without_markup("a < b, naïve café") == "a < b, naïve café"
