"""How the ranker itself comes to the score, as its family computes it.

BM25                each query term: idf(t) * tf / (tf + norm)                          sums to the score
late interaction    each query token: max over document tokens of their similarity      sums to the score
sparse              each word piece: w_t(query) * w_t(document)                         sums to the score
SemanticBM          each query token: its IDF, what it matches, and both together       sums to the score
cross-encoder       each query word: the model's own IDF of it, what its matching heads read (`matching.py`)
all others          each query word and document word, what they do together (`word_pairs.py`)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import singledispatch

from torch import Tensor

from whyrank.circuits.semantic_bm.ranker import SemanticBMRanker
from whyrank.explain.account import Mechanism, MechanismPart
from whyrank.explain.explained import Explained, part
from whyrank.explain.matching import by_matching_heads
from whyrank.explain.model_idf import ModelIdf
from whyrank.explain.word_pairs import word_pairs
from whyrank.rankers.bi_encoder import BiEncoder
from whyrank.rankers.cross_encoder import CrossEncoder
from whyrank.rankers.dual import DualRanker
from whyrank.rankers.late_interaction import LateInteraction
from whyrank.rankers.lexical import Lexical
from whyrank.rankers.neural import no_gradients
from whyrank.rankers.ranker import Pair, Ranker
from whyrank.rankers.sparse import Sparse
from whyrank.text.tokens import Span, Tokens
from whyrank.text.words import word_spans

#: Products of a sparse ranker that are shown; the rest is summed.
MOST_PIECES = 30
#: Query words and document words whose joint effects are scored; a cross-encoder reads each pair anew.
DUAL_WORDS, CROSS_WORDS = (12, 40), (4, 8)
REST = "tokens that are no word of the query (special tokens, masks)"


def mechanism_of(explained: Explained) -> Mechanism:
    """The account of this ranker's family; of a family of one's own, what words of both texts do together."""
    return _account(explained.texts.ranker, explained)


@singledispatch
def _account(ranker: Ranker, explained: Explained) -> Mechanism:
    return word_pairs(ranker.kind, explained, *CROSS_WORDS, score=_within_budget(explained))


@_account.register
def lexical_account(ranker: Lexical, explained: Explained) -> Mechanism:
    """BM25's terms, as its own or as another ranker's counterpart."""
    parts = tuple(
        MechanismPart(one.term, one.term if one.tf else None, None, None, one.idf, float(one.tf), one.contribution)
        for one in ranker.explain(explained.query, explained.document)
    )
    rest = ranker.score([explained.pair])[0] - sum(one.contribution for one in parts)
    note = "Each term's share of the score."
    return Mechanism("BM25", True, parts, float(rest), "IDF", "times in the document", note)


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
        parts.append(part(word, found, None, None, float(sum(best[i] for i in numbers))))
    parts.sort(key=lambda one: -one.contribution)
    note = f"Each token of the query adds its best similarity to a token of the document; the rest is of {REST}."
    return _exact("late interaction (MaxSim)", explained, tuple(parts), None, None, note)


@_account.register
def _sparse(ranker: Sparse, explained: Explained) -> Mechanism:
    (query, document), name = _encoded(ranker, explained), ranker.pieces.tokenizer.id_to_token
    products = query * document
    order = products.argsort(descending=True)[:MOST_PIECES].tolist()
    parts = tuple(
        part(str(name(i)), None, float(query[i]), float(document[i]), float(products[i]))
        for i in order
        if products[i] > 0
    )
    note = "Each word piece adds its weight in the query times its weight in the document."
    return _exact("sparse", explained, parts, "weight in the query", "weight in the document", note)


@_account.register
def _bi_encoder(ranker: BiEncoder, explained: Explained) -> Mechanism:
    return word_pairs("bi-encoder", explained, *DUAL_WORDS, score=_aside(ranker))


@_account.register
def _cross_encoder(ranker: CrossEncoder, explained: Explained) -> Mechanism:
    """By the matching heads, where they are known; else by replacement."""
    if explained.matching:
        return by_matching_heads(ranker, explained)
    score, idf = _within_budget(explained), ModelIdf.of(ranker)
    return word_pairs("cross-encoder", explained, *CROSS_WORDS, score=score, idf=idf)


@_account.register
def _semantic_bm(ranker: SemanticBMRanker, explained: Explained) -> Mechanism:
    """Each token's terms; the rest is the intercept."""
    found = ranker.explain(explained.query, explained.document)
    parts = tuple(part(one.token, None, one.f, sum(one.reads), one.total) for one in found.terms)
    note = "Each token of the query adds what its IDF, its matches and both together are worth; the rest is fixed."
    return _exact("SemanticBM", explained, parts, "model's IDF (-U0)", "attention to the document", note)


def _within_budget(explained: Explained) -> Callable[[Sequence[Pair]], dict[Pair, float]]:
    texts = explained.texts

    def score(pairs: Sequence[Pair]) -> dict[Pair, float]:
        texts.score_some("words of both texts", pairs)
        return {pair: texts[pair] for pair in pairs if pair in texts}

    return score


def _aside(ranker: DualRanker) -> Callable[[Sequence[Pair]], dict[Pair, float]]:
    """Texts are encoded once each, whatever they are paired with: this costs little beside the words' effects."""
    return lambda pairs: dict(zip(pairs, map(float, ranker.score(pairs)), strict=True))


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
