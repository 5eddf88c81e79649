"""How a part of a text is taken away: replaced by fillers, which keep the place of all other tokens, or deleted.

replace   'Leaves turn yellow.'  ->  'Leaves turn a.'       as many filler tokens as the part had
delete    'Leaves turn yellow.'  ->  'Leaves turn .'        all that follows moves up
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property

from whyrank.axioms.fillers import plain_filler
from whyrank.core.errors import UserError, nearest
from whyrank.rankers.neural import NeuralRanker
from whyrank.rankers.ranker import Ranker
from whyrank.text.tokens import Span, Tokens

#: What stands for a text with its only word deleted, which no ranker can score.
NOTHING = "."
WAYS = ("replace", "delete")
_BLANK = re.compile(r"\s*")


class Removal(ABC):
    """Takes spans of a query or of a document away."""

    way: str
    filler: str | None = None  #: None where nothing takes the place of what goes

    @abstractmethod
    def document(self, spans: Sequence[Span]) -> str:
        """The document without these spans, in order."""

    @abstractmethod
    def query(self, spans: Sequence[Span]) -> str:
        """The query without these spans, in order."""


class Deletion(Removal):
    """The spans go, each with the white space after it."""

    way = "delete"

    def __init__(self, query: str, document: str) -> None:
        self._query, self._document = query, document

    def document(self, spans: Sequence[Span]) -> str:
        return deleted(self._document, spans)

    def query(self, spans: Sequence[Span]) -> str:
        return deleted(self._query, spans)


class Replacement(Removal):
    """Each span becomes as many fillers as it has tokens for this ranker; one, for a ranker without tokens."""

    way = "replace"

    def __init__(self, ranker: Ranker, query: str, document: str) -> None:
        self._ranker, self._query, self._document = ranker, query, document
        self.filler: str = plain_filler(query)

    def document(self, spans: Sequence[Span]) -> str:
        return self._replaced(self._document, spans, self._document_tokens)

    def query(self, spans: Sequence[Span]) -> str:
        return self._replaced(self._query, spans, self._query_tokens)

    @cached_property
    def _document_tokens(self) -> Tokens | None:
        if not isinstance(self._ranker, NeuralRanker):
            return None
        return self._ranker.document_tokens(self._query, self._document)

    @cached_property
    def _query_tokens(self) -> Tokens | None:
        return self._ranker.pieces.whole(self._query) if isinstance(self._ranker, NeuralRanker) else None

    def _replaced(self, text: str, spans: Sequence[Span], tokens: Tokens | None) -> str:
        counts = [1] * len(spans) if tokens is None else map(len, tokens.within_each(spans))
        parts, end = [], 0
        for (start, stop), count in zip(spans, counts, strict=True):
            parts += [text[end:start], " ".join([self.filler] * max(1, count))]
            end = stop
        return "".join([*parts, text[end:]])


def removal(way: str, ranker: Ranker, query: str, document: str) -> Removal:
    """The removal of that name."""
    if way not in WAYS:
        raise UserError(f"words cannot be taken away by '{way}'", todo=nearest(way, WAYS))
    return Replacement(ranker, query, document) if way == "replace" else Deletion(query, document)


def deleted(text: str, spans: Sequence[Span]) -> str:
    """The text without these spans, each with the white space after it; all else stays as it is."""
    left, end = [], 0
    for start, stop in spans:
        left.append(text[end:start])
        blank = _BLANK.match(text, stop)
        end = blank.end() if blank else stop
    rest = "".join([*left, text[end:]])
    return rest if rest.strip() else NOTHING
