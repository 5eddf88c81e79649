"""Queries with two content words, and the documents that repeat one of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tokenizers import Tokenizer

from whyrank.axioms.terms import QUESTION_WORDS
from whyrank.core.errors import UserError
from whyrank.edits.term_pieces import pieces_of
from whyrank.rankers.ranker import Pair
from whyrank.text.words import ENGLISH_STOPWORDS, words

#: How often a document repeats its word.
TIMES = 3


@dataclass(frozen=True)
class TwoTokens:
    """One query, the word that is edited, and the other."""

    qid: str
    query: str
    tok1: str
    tok2: str

    @property
    def pairs(self) -> tuple[Pair, Pair]:
        """The query with doc1 and with doc2."""
        return (self.query, " ".join([self.tok1] * TIMES)), (self.query, " ".join([self.tok2] * TIMES))


def two_token_queries(tokenizer: Tokenizer, queries: Mapping[str, str]) -> list[TwoTokens]:
    """Each query's first two content words that have pieces and share none, in both orders."""
    found = []
    for qid, query in queries.items():
        first = _two_words(tokenizer, query)
        if first:
            found += [TwoTokens(qid, query, *first), TwoTokens(qid, query, *reversed(first))]
    return found


def _two_words(tokenizer: Tokenizer, query: str) -> tuple[str, str] | None:
    chosen: list[tuple[str, set[int]]] = []
    for word in dict.fromkeys(words(query)):
        if word in ENGLISH_STOPWORDS or word in QUESTION_WORDS or len(word) < 2:
            continue
        try:
            pieces = set(pieces_of(tokenizer, word))
        except UserError:
            continue
        if not any(pieces & others for _, others in chosen):
            chosen.append((word, pieces))
        if len(chosen) == 2:
            return chosen[0][0], chosen[1][0]
    return None
