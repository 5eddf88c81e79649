"""The categories of tokens: every token of a minimal pair has exactly one, the same on both sides."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from whyrank.text.tokens import Span, Tokens
from whyrank.text.words import word_spans, words

#: `inj` is where the change stands, `filler` a slot that holds fillers on both sides, `qterm+` an occurrence of
#: the selected term in the original text, `qterm-` of another query word. Special tokens after the first are
#: `sep`; a prefix that the model wants before every document is `other`.
CATEGORIES = ("cls", "query", "inj", "filler", "qterm+", "qterm-", "other", "sep")


def categorise(
    tokens: Tokens, text: str, *, query: str, term: str | None, changed: Sequence[Span], fillers: Sequence[Span]
) -> list[str]:
    """Each token's category; words are matched whole, as windows of all their pieces."""
    found = ["other"] * len(tokens)
    specials = [i for i, role in enumerate(tokens.roles) if role == "special"]
    for i in specials:
        found[i] = "cls" if i == 0 else "sep"
    for i, role in enumerate(tokens.roles):
        if role == "query":
            found[i] = "query"
    wanted = set(words(term)) if term else set()
    others = set(words(query)) - wanted
    for word, start, end in word_spans(text):
        if word in wanted or word in others:
            _mark(found, tokens.within((start, end)), "qterm+" if word in wanted else "qterm-")
    for spans, category in ((fillers, "filler"), (changed, "inj")):
        _mark(found, (i for span in spans for i in tokens.within(span)), category)
    return found


def _mark(found: list[str], places: Iterable[int], category: str) -> None:
    for i in places:
        found[i] = category
