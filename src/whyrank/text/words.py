"""Words and search terms: what counts as a word is decided here, once, for BM25, axioms and explanations.

A word is a run of Unicode letters and digits with their combining marks; an apostrophe between two of them
belongs to it (don't, O'Neill), one at its edge does not ('quoted').
"""

from __future__ import annotations

import re
import threading
import unicodedata
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, NamedTuple

from whyrank.core.errors import UserError

#: The language of a collection of which nothing else is said, and the name of no language: words are not stemmed.
ENGLISH, NO_STEMS = "english", "none"
#: Lucene's English stop words, the list behind most published BM25 baselines.
ENGLISH_STOPWORDS = frozenset(
    re.findall(
        r"\w+",
        "a an and are as at be but by for if in into is it no not of on or such that the their then there "
        "these they this to was will with",
    )
)
#: Both kinds of apostrophe are read; a word is always written with the plain one.
APOSTROPHES = "'’"
#: All combining marks lie in the first two planes, but for the variation selectors that no word needs.
FIRST_MARK, LAST_MARK = 0x300, 0x20000

_per_thread = threading.local()


class WordSpan(NamedTuple):
    """A lower-cased word and the characters `text[start:end]` that it was."""

    word: str
    start: int
    end: int


def words(text: str) -> list[str]:
    """The lower-cased words of a text, in order: `words("Don't panic!") == ["don't", "panic"]`."""
    return [_plain(word) for word in _pattern().findall(text)]


def word_spans(text: str) -> list[WordSpan]:
    """The lower-cased words of a text, each with its character span in that text."""
    return [WordSpan(_plain(match.group()), *match.span()) for match in _pattern().finditer(text)]


def _plain(word: str) -> str:
    return word.lower().replace("’", "'")


@cache
def _pattern() -> re.Pattern[str]:
    """Python's `\\w` leaves combining marks out and would cut the words of many scripts at each of them.

    The look-ahead is for speed, five times on English: marks are searched for only above all Latin letters.
    """
    marks = "".join(chr(c) for c in range(FIRST_MARK, LAST_MARK) if unicodedata.category(chr(c))[0] == "M")
    letters = rf"[^\W_]++(?:(?=[^\x00-\u02ff])[{marks}]++[^\W_]*+)*+"
    return re.compile(rf"{letters}(?:[{APOSTROPHES}]{letters})*+")


@dataclass(frozen=True)
class Analyzer:
    """Text -> search terms: words, without stop words if so chosen, cut to their Snowball stems.

    An immutable value that prints as it is made: `Analyzer(stem='english', stopwords=None)`.
    """

    stem: str | None = ENGLISH
    stopwords: Literal["english"] | None = None

    def __post_init__(self) -> None:
        if self.stem not in (ENGLISH, None) and self.stem not in languages():
            todo = f"choose None or one of {', '.join(languages())}"
            raise UserError(f"an analyzer's stem cannot be {self.stem!r}", todo=todo)
        if self.stopwords not in (ENGLISH, None):
            raise UserError(
                f"an analyzer's stopwords cannot be {self.stopwords!r}", todo="choose 'english' or None"
            )

    @classmethod
    def of(cls, language: str) -> Analyzer:
        """The stems of a language, or whole words (`none`)."""
        if language not in (ENGLISH, NO_STEMS) and language not in languages():
            todo = f"choose {', '.join(languages())}, or {NO_STEMS} for whole words"
            raise UserError(f"no stemmer for the language {language!r}", todo=todo)
        return cls(None if language == NO_STEMS else language)

    def __call__(self, text: str) -> list[str]:
        kept = [word for word in words(text) if not (self.stopwords and word in ENGLISH_STOPWORDS)]
        return _stemmer(self.stem).stemWords(kept) if self.stem else kept


@cache
def languages() -> tuple[str, ...]:
    """The languages that Snowball has a stemmer for."""
    import Stemmer

    return tuple(sorted(Stemmer.algorithms()))


def _stemmer(language: str) -> Any:
    """One stemmer a thread and language: PyStemmer's objects must not be shared among threads."""
    if not hasattr(_per_thread, "stemmers"):
        _per_thread.stemmers = {}
    if language not in _per_thread.stemmers:
        import Stemmer

        _per_thread.stemmers[language] = Stemmer.Stemmer(language)
    return _per_thread.stemmers[language]
