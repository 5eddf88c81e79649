"""A cross-encoder's score as its matching heads and its own IDF have it; like BM25's, rarity times match.

    MS(q_i) = sum over matching heads k and document tokens j of A_k[q_i, d_j]
    account = sum over query tokens i of f_i MS(q_i),      f_i = -U_0

The account is SemanticBM's interaction without any fitted weight. How far it follows the score is measured on
variants of both texts, each without a word, that the explanation has scored already (`covered`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from torch import Tensor

from whyrank.circuits.reading import Reading
from whyrank.circuits.semantic_bm.matching import read_matching
from whyrank.explain.account import Covered, Mechanism, MechanismPart
from whyrank.explain.explained import Explained, cuts, part
from whyrank.explain.explanation import TermEffect
from whyrank.explain.model_idf import MODEL_IDF, ModelIdf
from whyrank.explain.word_pairs import IDF_NOTE
from whyrank.rankers.cross_encoder import CrossEncoder
from whyrank.rankers.ranker import Pair
from whyrank.text.tokens import Span
from whyrank.text.words import WordSpan, word_spans

#: Variants that the account is compared on, and below how many nothing is said.
MOST_VARIANTS, FEWEST_VARIANTS = 40, 8
READS = "attention to the document"
NOTE = (
    "What each query word adds (the score lost when it is replaced), how much attention it pays to the document "
    "through the matching heads, and the word that it reads most. These do not sum to the score."
)


def by_matching_heads(ranker: CrossEncoder, explained: Explained) -> Mechanism:
    """One part per word of the query, with how far rarity times attention follows the score."""
    idf, words = ModelIdf.of(ranker), _Words(ranker, explained)
    parts = tuple(words.part(one, idf) for one in explained.query_terms)
    rest = explained.score - sum(one.contribution for one in parts)
    note, weight = (NOTE, None) if idf is None else (NOTE + IDF_NOTE, MODEL_IDF)
    how = Mechanism("cross-encoder", False, parts, rest, weight, READS, note)
    return replace(how, covered=covered(ranker, explained, idf))


class _Words:
    """What the words of the query read of the document through the matching heads."""

    def __init__(self, ranker: CrossEncoder, explained: Explained) -> None:
        layers = 1 + max(head.layer for head in explained.matching)
        self.reading = Reading.of(ranker, explained.query, explained.document, layers)
        patterns = [self.reading.attention[head.layer, head.head] for head in explained.matching]
        self.attention = sum(patterns[1:], patterns[0])
        self.document = explained.document
        self.held = word_spans(explained.document)
        self.tokens = self.reading.tokens.within_each([(one.start, one.end) for one in self.held])
        self.asked = _query_positions(ranker, explained.query, self.reading.query)

    def part(self, one: TermEffect, idf: ModelIdf | None) -> MechanismPart:
        rows = self.attention[self.asked.get(one.word, [])]
        match = float(rows[:, self.reading.document].sum())
        rarity = None if idf is None else idf.share(one.word)
        return part(one.word, self._most_read(rows.sum(0)), rarity, match, one.effect)

    def _most_read(self, read: Tensor) -> tuple[str, Span] | None:
        sums = [float(read[inside].sum()) for inside in self.tokens]
        if not sums or max(sums) <= 0:
            return None
        best: WordSpan = self.held[int(np.argmax(sums))]
        return self.document[best.start : best.end], (best.start, best.end)


def _query_positions(ranker: CrossEncoder, query: str, positions: Sequence[int]) -> dict[str, list[int]]:
    """Where the tokens of each word of the query stand in the sequence of both texts."""
    whole = ranker.pieces.whole(query)
    content = [i for i, role in enumerate(whole.roles) if role != "special"]
    place = dict(zip(content, positions, strict=False))
    return {
        word: [place[i] for span in spans for i in whole.within(span) if i in place]
        for word, spans in cuts(query).items()
    }


def covered(ranker: CrossEncoder, explained: Explained, idf: ModelIdf | None) -> Covered | None:
    """r squared between the account and the score over variants; by the fitted model, where there is one."""
    variants = _variants(explained)
    scores = [explained.texts[pair] for pair in variants]
    if explained.fitted is not None:
        model = explained.fitted.model
        predicted = model.score(variants)
        followed = _r_squared(predicted, scores)
        return Covered(followed, len(variants), model.name, float(predicted[0]), explained.fitted.held_out)
    if idf is None:
        return None
    accounts = _accounts(ranker, explained, variants, idf)
    return Covered(_r_squared(accounts, scores), len(variants), "its matching heads and its own IDF")


def _accounts(ranker: CrossEncoder, explained: Explained, variants: Sequence[Pair], idf: ModelIdf) -> np.ndarray:
    """sum over query tokens of f_i MS(q_i) for each variant."""
    layers = 1 + max(head.layer for head in explained.matching)
    columns = [head.layer * ranker.encoder.heads + head.head for head in explained.matching]
    read = read_matching(ranker, variants, layers=layers)
    return np.array([float(idf.rarity(one.ids) @ one.document[:, columns].sum(1)) for one in read])


def _variants(explained: Explained) -> list[Pair]:
    """The pair itself, each query word taken away, and words of the document, evenly from those by effect."""
    asked, held = cuts(explained.query), cuts(explained.document)
    queries = [(explained.removal.query(asked[one.word]), explained.document) for one in explained.query_terms]
    terms = explained.terms[:: -(-len(explained.terms) // MOST_VARIANTS) or 1]
    texts = [(explained.query, explained.removal.document(held[one.word])) for one in terms if one.word in held]
    scored = (pair for pair in dict.fromkeys([explained.pair, *queries, *texts]) if pair in explained.texts)
    return list(scored)[:MOST_VARIANTS]


def _r_squared(account: np.ndarray, scores: Sequence[float]) -> float | None:
    if len(scores) < FEWEST_VARIANTS or np.std(account) == 0 or np.std(scores) == 0:
        return None
    return float(np.corrcoef(account, scores)[0, 1] ** 2)
