"""Which query word a pair is about."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Sequence

from whyrank.text.words import ENGLISH_STOPWORDS, words

#: Words of questions, which carry no topic.
QUESTION_WORDS = frozenset(
    re.findall(
        r"\w+",
        "how what why when where who whom which whose can could do does did should would has have had i my me we "
        "our you your he she his her its from about than so also am been were many much get some any all off out "
        "up down over",
    )
)
#: How a term is chosen: the rarest; any; the one whose injection moves the scores of the query's documents most
#: (the papers' way); or one that is particular to each document.
TERM_POLICIES = ("idf", "random", "effect", "document")

Idf = Callable[[str], float]


def content_words(
    query: str, idf: Idf, known: Callable[[str], bool] = lambda word: True, *, english: bool = True
) -> tuple[str, ...]:
    """The query's words that can be selected, the rarest first; all of its words if none is a content word.

    Words that are not `known` (misspellings, which no document holds) are passed over where there are others.
    Only `english` has a list of words that carry no topic.
    """
    distinct = list(dict.fromkeys(words(query)))
    content = [word for word in with_topic(distinct, english=english) if len(word) > 1]
    usable = [word for word in content or distinct if known(word)] or content or distinct
    return tuple(sorted(usable, key=lambda word: (-idf(word), word)))


def with_topic(words: Iterable[str], *, english: bool = True) -> list[str]:
    """The words that are not function words."""
    no_content = ENGLISH_STOPWORDS | QUESTION_WORDS if english else frozenset()
    return [word for word in words if word not in no_content]


def random_term(terms: Sequence[str], generator: random.Random) -> str:
    """Any of them."""
    return generator.choice(sorted(terms))


def document_term(terms: Sequence[str], text: str, idf: Idf) -> str:
    """The term with the highest tf x idf in the document; the rarest where none is in it."""
    found = words(text)
    return max(terms, key=lambda word: (found.count(word) * idf(word), idf(word), word))
