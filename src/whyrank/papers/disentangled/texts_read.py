"""How much of a document each model reads, measured on the collection's own candidates.

Sequences of tokens, overlapping passages of words and word pieces cannot be made to cover the same text exactly:
how long queries are and how many pieces a word has depends on the collection. So it is measured and reported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

from whyrank.learning.material import Material
from whyrank.learning.models.chunker import WORD, Chunker
from whyrank.papers.disentangled.results import ModelReading, TextsRead
from whyrank.papers.disentangled.sizes import WORD_MODELS, HowRead
from whyrank.rankers.ranker import Pair
from whyrank.text.pieces import Pieces

#: Pairs that are measured.
SAMPLE = 200


class Read(NamedTuple):
    """Of one pair: sequences, document tokens that are read once or more, and with those that are read again."""

    sequences: int
    tokens: int
    with_repeats: int


def sampled_pairs(material: Material, qids: Sequence[str], most: int = SAMPLE) -> list[Pair]:
    """Candidates, the queries by turns, the best first."""
    queues = [material.candidates[qid] for qid in qids]
    longest = max(map(len, queues), default=0)
    rows = [queue[i] for i in range(longest) for queue in queues if i < len(queue)]
    return [material.pair(row.qid, row.docno) for row in rows[:most]]


def texts_read(pieces: Pieces, pairs: Sequence[Pair], models: Mapping[str, HowRead]) -> TextsRead:
    """Means over the pairs; `models` are how each reads."""
    whole = [len(_tokens(pieces, text)) for _, text in pairs]
    words = sum(len(WORD.findall(text)) for _, text in pairs)
    return TextsRead(
        len(pairs),
        pieces_per_word=sum(whole) / max(1, words),
        query_tokens=fmean(len(_tokens(pieces, query)) for query, _ in pairs),
        document_tokens=fmean(whole),
        models=tuple(
            _means(name, [read_of(pieces, name, how, pair) for pair in pairs], whole)
            for name, how in models.items()
        ),
    )


def read_of(pieces: Pieces, model: str, how: HowRead, pair: Pair) -> Read:
    """What a model reads of a pair's document."""
    offsets, stride = _tokens(pieces, pair[1]), how.stride
    if model in WORD_MODELS:
        read = min(how.max_length, len(offsets))
        return Read(1, read, read)
    chunker = Chunker(pieces, how.max_length, how.chunks, how.passage, stride)
    counts = chunker.of([pair]).document.sum(dim=1).tolist()
    if stride is None:
        return Read(len(counts), sum(counts), sum(counts))
    begins = [match.start() for match in WORD.finditer(pair[1])]
    places: set[int] = set()
    for number, count in enumerate(counts):
        start = begins[number * stride] if number else 0
        first = sum(begin < start for begin, _ in offsets)
        places.update(range(first, first + count))
    return Read(len(counts), len(places), sum(counts))


def _tokens(pieces: Pieces, text: str) -> list[tuple[int, int]]:
    pieces.tokenizer.no_truncation()
    return pieces.tokenizer.encode(text, add_special_tokens=False).offsets


def _means(model: str, read: Sequence[Read], whole: Sequence[int]) -> ModelReading:
    shares = [one.tokens / count for one, count in zip(read, whole, strict=True) if count]
    means = {name: fmean(getattr(one, name) for one in read) for name in Read._fields}
    return ModelReading(model, **means, share=fmean(shares) if shares else 0.0)
