"""Who else moves: documents that have a piece of an edited word, and do not hold the word.

`waterproof` is 'water' and '##proof'; what is only water repellent has a piece of it. Of the candidates of a query
some hold the word, some share a piece, and the rest have none of the pieces. For each query with documents of the
last two kinds

    change = mean over the sharers of (score after - before)  -  the same mean over the rest
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

import numpy as np
from tokenizers import Tokenizer

from whyrank.collections.records import Retrieved
from whyrank.edits.edit import Edit
from whyrank.edits.holders import holding
from whyrank.edits.intent import SharerMove, SharerMoves
from whyrank.edits.term_pieces import pieces_of
from whyrank.edits.unedited import Unedited
from whyrank.evaluation.estimate import Estimate
from whyrank.text.titles import snippet_of, title_of
from whyrank.text.words import word_spans

#: Examples shown.
EXAMPLES = 5
#: A row, its document's text, its score and its rank afterwards.
_Row = tuple[Retrieved, str, float, int]


def sharers_of_edits(
    tokenizer: Tokenizer, unedited: Unedited, scores: np.ndarray, edit: Edit, seed: int = 0
) -> tuple[SharerMoves, ...]:
    """For each edited term of several pieces, or of one that other words have, those that share it."""
    found = []
    for term in edit.terms:
        directions = {one.direction for one in edit if one.term == term}
        if len(directions) == 1:
            one = sharers(tokenizer, unedited, scores, term, directions.pop(), seed)
            found += [one] if one.pairs or len(one.pieces) > 1 else []
    return tuple(found)


def sharers(
    tokenizer: Tokenizer, unedited: Unedited, scores: np.ndarray, term: str, direction: str, seed: int = 0
) -> SharerMoves:
    """The documents that share a piece of this term."""
    shares, holds, sign = Sharing(tokenizer, term), holding(term), 1 if direction == "up" else -1
    changes, moves = {}, []
    for qid, rows in _by_query(unedited, scores):
        kinds: dict[str, list[float]] = {"sharers": [], "rest": []}
        for row, text, after, rank in rows:
            if holds(text):
                continue
            spans = shares.places(text)
            kinds["sharers" if spans else "rest"].append(after - row.score)
            if spans:
                moves.append(_move(unedited.queries[qid], row, text, spans, rank, after))
        if kinds["sharers"] and kinds["rest"]:
            changes[qid] = float(np.mean(kinds["sharers"]) - np.mean(kinds["rest"]))
    moved = [one for one in moves if one.after != one.before]
    as_meant = [one for one in moved if sign * (one.after - one.before) < 0]
    as_meant.sort(key=lambda one: sign * (one.after - one.before))
    return SharerMoves(
        term, direction, shares.names, len(moves), Estimate.mean(list(changes.values()), list(changes), seed),
        sum(one.after < one.before for one in moved), sum(one.after > one.before for one in moved),
        tuple(as_meant[:EXAMPLES]),
    )  # fmt: skip


class Sharing:
    """Finds the words of a text that have a piece of a term."""

    def __init__(self, tokenizer: Tokenizer, term: str) -> None:
        self.tokenizer, self.pieces = tokenizer, frozenset(pieces_of(tokenizer, term))
        self.names = tuple(str(tokenizer.id_to_token(piece)) for piece in pieces_of(tokenizer, term))
        self._known: dict[str, bool] = {}

    def places(self, text: str) -> list[tuple[str, int, int]]:
        """Word, start and end."""
        return [(one.word, one.start, one.end) for one in word_spans(text) if self._has(one.word)]

    def _has(self, word: str) -> bool:
        if word not in self._known:
            ids = self.tokenizer.encode(f" {word}", add_special_tokens=False).ids
            self._known[word] = not self.pieces.isdisjoint(ids)
        return self._known[word]


def _by_query(unedited: Unedited, scores: np.ndarray) -> Iterator[tuple[str, list[_Row]]]:
    """For each query its rows with their texts, scores and ranks after."""
    ranks = {(row.qid, row.docno): row.rank for rows in unedited.run(scores).values() for row in rows}
    rows = zip(unedited.rows, unedited.pairs, scores.tolist(), strict=True)
    for qid, group in groupby(rows, key=lambda row: row[0].qid):
        yield qid, [(row, text, after, ranks[qid, row.docno]) for row, (_, text), after in group]


def _move(
    query: str, row: Retrieved, text: str, spans: list[tuple[str, int, int]], rank: int, after: float
) -> SharerMove:
    (_, start, end), words = spans[0], tuple(dict.fromkeys(word for word, _, _ in spans))
    return SharerMove(
        query, row.docno, title_of(text), snippet_of(text, start, end), words, row.rank, rank, row.score, after
    )
