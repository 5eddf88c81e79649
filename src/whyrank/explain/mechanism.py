"""How the ranker itself comes to the score, as its family computes it.

BM25                each query term: idf(t) * tf / (tf + norm)                          sums to the score
late interaction    each query token: max over document tokens of their similarity      sums to the score
sparse              each word piece: w_t(query) * w_t(document)                         sums to the score
bi-encoder,         each query word and document word, what they do together by replacement:
cross-encoder       s(q, d) - s(q-i, d) - s(q, d-j) + s(q-i, d-j)                       does not sum to the score

A cross-encoder's table has the model's own IDF of each query word beside it: its place on U_0 of the embedding
matrix, as the share of whole words that the model takes to be more common.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import singledispatch

import torch
from torch import Tensor

from whyrank.edits.dial import Dial, UnclearSign
from whyrank.edits.term_pieces import pieces_of
from whyrank.explain.explanation import Mechanism, MechanismPart, TermEffect
from whyrank.explain.parts import places_of
from whyrank.explain.removal import Removal
from whyrank.explain.scored import ScoredTexts
from whyrank.rankers.bi_encoder import BiEncoder
from whyrank.rankers.cross_encoder import CrossEncoder
from whyrank.rankers.dual import DualRanker
from whyrank.rankers.late_interaction import LateInteraction
from whyrank.rankers.lexical import Lexical
from whyrank.rankers.neural import NeuralRanker, no_gradients
from whyrank.rankers.ranker import Pair, Ranker
from whyrank.rankers.sparse import Sparse
from whyrank.text.tokens import Span, Tokens
from whyrank.text.words import word_spans

#: Products of a sparse ranker that are shown; the rest is summed.
MOST_PIECES = 30
#: Query words and document words whose joint effects are scored; a cross-encoder reads each pair anew.
DUAL_WORDS, CROSS_WORDS = (12, 40), (4, 8)
#: The column of a word's place on U_0.
MODEL_IDF = "model's IDF"
REST = "tokens that are no word of the query (special tokens, masks)"


@dataclass(frozen=True)
class Explained:
    """A pair, its texts scored so far, and the effects that were found, the strongest first."""

    texts: ScoredTexts
    query: str
    document: str
    removal: Removal
    query_terms: Sequence[TermEffect]
    terms: Sequence[TermEffect]

    @property
    def pair(self) -> Pair:
        return self.query, self.document

    @property
    def score(self) -> float:
        return self.texts[self.pair]


def mechanism_of(explained: Explained) -> Mechanism | None:
    """The account of this ranker's family; None for a family without one."""
    return _account(explained.texts.ranker, explained)


@singledispatch
def _account(ranker: Ranker, explained: Explained) -> Mechanism | None:
    return None


@_account.register
def _lexical(ranker: Lexical, explained: Explained) -> Mechanism:
    parts = tuple(
        MechanismPart(one.term, one.term if one.tf else None, None, None, one.idf, float(one.tf), one.contribution)
        for one in ranker.explain(explained.query, explained.document)
    )
    return _exact("BM25", explained, parts, "IDF", "times in the document", "Each term's share of the score.")


@_account.register
def _late(ranker: LateInteraction, explained: Explained) -> Mechanism:
    """A word's contribution is the sum of its tokens' best similarities."""
    best, places = best_matches(ranker, explained.query, explained.document)
    tokens = ranker.document_tokens(explained.query, explained.document)
    spoken = _by_word(ranker.query_tokens(explained.query), explained.query)
    parts = []
    for word, numbers in spoken.items():
        numbers = [i for i in numbers if i < len(best)]
        strongest = max(numbers, key=lambda i: float(best[i]), default=None)
        span = None if strongest is None else tokens.spans[places[strongest]]
        found = _word_at(explained.document, span)
        parts.append(_part(word, found, None, None, float(sum(best[i] for i in numbers))))
    parts.sort(key=lambda one: -one.contribution)
    note = f"Each token of the query adds its best similarity to a token of the document; the rest is of {REST}."
    return _exact("late interaction (MaxSim)", explained, tuple(parts), None, None, note)


@_account.register
def _sparse(ranker: Sparse, explained: Explained) -> Mechanism:
    (query, document), name = _encoded(ranker, explained), ranker.pieces.tokenizer.id_to_token
    products = query * document
    order = products.argsort(descending=True)[:MOST_PIECES].tolist()
    parts = tuple(
        _part(str(name(i)), None, float(query[i]), float(document[i]), float(products[i]))
        for i in order
        if products[i] > 0
    )
    note = "Each word piece adds its weight in the query times its weight in the document."
    return _exact("sparse", explained, parts, "weight in the query", "weight in the document", note)


@_account.register
def _bi_encoder(ranker: BiEncoder, explained: Explained) -> Mechanism:
    return _together("bi-encoder", explained, *DUAL_WORDS, score=_aside(ranker))


@_account.register
def _cross_encoder(ranker: CrossEncoder, explained: Explained) -> Mechanism:
    texts = explained.texts

    def score(pairs: Sequence[Pair]) -> dict[Pair, float]:
        texts.score_some("words of both texts", pairs)
        return {pair: texts[pair] for pair in pairs if pair in texts}

    return _together("cross-encoder", explained, *CROSS_WORDS, score=score, rarity=model_rarity(ranker))


def _aside(ranker: DualRanker) -> Callable[[Sequence[Pair]], dict[Pair, float]]:
    """Texts are encoded once each, whatever they are paired with: this costs little beside the words' effects."""
    return lambda pairs: dict(zip(pairs, map(float, ranker.score(pairs)), strict=True))


def _together(
    family: str,
    explained: Explained,
    most_asked: int,
    most_held: int,
    score: Callable[[Sequence[Pair]], dict[Pair, float]],
    rarity: Callable[[str], float | None] | None = None,
) -> Mechanism:
    """For each query word what it adds, and the word of the document with which it adds most."""
    asked = {one.word: one for one in explained.query_terms[:most_asked]}
    held = sorted(explained.terms, key=lambda one: -abs(one.effect))[:most_held]
    cut_query, cut_text = _cuts(explained.query), _cuts(explained.document)
    queries = {word: explained.removal.query(cut_query[word]) for word in asked if word in cut_query}
    texts = {one.word: explained.removal.document(cut_text[one.word]) for one in held if one.word in cut_text}
    both = {(a, b): (queries[a], texts[b]) for a in queries for b in texts}
    scores = score(list(dict.fromkeys(both.values())))
    effects = {one.word: one.effect for one in held}
    joint = {
        key: asked[key[0]].effect + effects[key[1]] - (explained.score - scores[pair])
        for key, pair in both.items()
        if pair in scores
    }
    parts = []
    for word, one in asked.items():
        row = {b: value for (a, b), value in joint.items() if a == word}
        partner = max(row, key=lambda b: row[b], default=None)
        span = cut_text[partner][0] if partner is not None and row[partner] > 0 else None
        found = (explained.document[slice(*span)], span) if span else None
        share = None if rarity is None else rarity(word)
        parts.append(_part(word, found, share, row[partner] if partner and found else None, one.effect))
    left = explained.score - sum(one.contribution for one in parts)
    weight = None if rarity is None else MODEL_IDF
    note = (
        "What each query word adds (the score lost when it is replaced), and the document's word that it acts "
        "with most. These effects are measured one by one and do not sum to the score."
    )
    if rarity is not None:
        note += " The model's IDF is the share of whole words that it takes to be more common (U0)."
    return Mechanism(family, False, tuple(parts), left, weight, "joint effect", note)


def model_rarity(ranker: NeuralRanker) -> Callable[[str], float | None] | None:
    """The share of whole words that the model takes to be more common than a word (its rarest piece); None where
    U_0 says nothing about rarity."""
    try:
        dial = Dial.of(ranker)
    except UnclearSign:
        return None
    whole = torch.from_numpy(dial.idf.whole)
    common = dial.u0[: len(whole)][whole]

    def share(word: str) -> float | None:
        pieces = pieces_of(ranker.pieces.tokenizer, word)
        return float((common > min(dial.u0[i] for i in pieces)).float().mean()) if pieces else None

    return share


def best_matches(ranker: LateInteraction, query: str, document: str) -> tuple[Tensor, list[int]]:
    """For each token of the query as it is encoded, the best similarity, and the document's token that has it."""
    vectors, states = (
        ranker.encode([text], side)[0][0] for side, text in (("query", query), ("document", document))
    )
    (sequence,) = ranker.sequences([document], "document")
    kept = [i for i, token in enumerate(sequence.ids) if token not in set(ranker.skipped)]
    with no_gradients():
        best = (vectors @ states.T).max(dim=1)
    return best.values.cpu(), [kept[i] for i in best.indices.tolist()]


def _encoded(ranker: DualRanker, explained: Explained) -> tuple[Tensor, Tensor]:
    (query,), _ = ranker.encode([explained.query], "query")
    (document,), _ = ranker.encode([explained.document], "document")
    return query.cpu().double(), document.cpu().double()


def _exact(
    family: str,
    explained: Explained,
    parts: tuple[MechanismPart, ...],
    weight: str | None,
    match: str | None,
    note: str,
) -> Mechanism:
    rest = explained.score - sum(one.contribution for one in parts)
    return Mechanism(family, True, parts, rest, weight, match, note)


def _part(
    query: str, found: tuple[str, Span] | None, weight: float | None, match: float | None, contribution: float
) -> MechanismPart:
    if found is None:
        return MechanismPart(query, None, None, None, weight, match, contribution)
    text, (start, end) = found
    return MechanismPart(query, text, start, end, weight, match, contribution)


def _cuts(text: str) -> dict[str, list[Span]]:
    return places_of(word_spans(text))


def _by_word(tokens: Tokens, text: str) -> dict[str, list[int]]:
    """The tokens of each distinct word of a text."""
    spans = word_spans(text)
    found: dict[str, list[int]] = {}
    for word, inside in zip(spans, tokens.within_each([(one.start, one.end) for one in spans]), strict=True):
        found.setdefault(word.word, []).extend(inside)
    return found


def _word_at(text: str, span: Span | None) -> tuple[str, Span] | None:
    """The word that a token is part of, or the token's own characters."""
    if span is None or span[0] >= span[1]:
        return None
    for word in _holding(text, span):
        return text[word[0] : word[1]], word
    return text[slice(*span)], span


def _holding(text: str, span: Span) -> Iterator[Span]:
    return ((word.start, word.end) for word in word_spans(text) if word.start < span[1] <= word.end)
