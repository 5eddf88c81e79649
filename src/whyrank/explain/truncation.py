"""What a ranker never saw of long texts, and what the score would be had it seen the best passage instead."""

from __future__ import annotations

from whyrank.explain.explanation import Truncation
from whyrank.explain.scored import ScoredTexts
from whyrank.rankers.cross_encoder import CrossEncoder
from whyrank.rankers.dual import DualRanker
from whyrank.rankers.neural import NeuralRanker
from whyrank.rankers.passages import BestPassage
from whyrank.rankers.ranker import Ranker, characters_within
from whyrank.text.words import word_spans

#: Of the budget, the share that passages may take.
SHARE = 4


def query_characters_read(ranker: Ranker, query: str, document: str) -> int:
    """How many characters of a query are read beside this document: all, where no family says otherwise."""
    if isinstance(ranker, CrossEncoder):
        kept = ranker.pieces.pair(query, document).roles.count("query")
        spans = [span for span in ranker.pieces.whole(query).spans if span is not None]
        return len(query) if kept >= len(spans) else spans[kept - 1][1] if kept else 0
    if isinstance(ranker, DualRanker):
        return characters_within(ranker.query_tokens(query), ranker.opened_length("query"), query)
    return len(query)


def truncation_of(texts: ScoredTexts, query: str, document: str) -> Truncation | None:
    """None for a document that is read whole. Passages are half-overlapping windows; of more than a quarter of the
    budget allows, every second, third, ... is tried."""
    ranker = texts.ranker
    start = ranker.characters_read(query, document)
    spans = word_spans(document)
    read = sum(span.start < start for span in spans)
    if start >= len(document) or read == len(spans) or not isinstance(ranker, NeuralRanker):
        return None
    passages = BestPassage(ranker).passages(query, document)
    tried = passages[:: -(-len(passages) // max(1, texts.left // SHARE))]
    texts.score("passages", [(query, passage) for passage in tried])
    best = max(tried, key=lambda passage: texts[query, passage])
    place = document.index(best)
    return Truncation(len(spans), read, start, len(passages), place, place + len(best), texts[query, best])
