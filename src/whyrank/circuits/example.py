"""A worked example: one pair, and what the circuit's heads read in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from whyrank.axioms.pair import MinimalPair
from whyrank.axioms.realise import realise_for_patching
from whyrank.circuits.circuit import Circuit
from whyrank.circuits.head import Head
from whyrank.circuits.reading import Reading
from whyrank.rankers.cross_encoder import CrossEncoder

#: Document tokens shown, the change among them.
SHOWN = 24


def worked_example(ranker: CrossEncoder, circuit: Circuit, pair: MinimalPair) -> dict[str, Any]:
    """The perturbed side of a pair: scoring heads' CLS rows and contextualization heads' rows over the query,
    matching heads' rows from the query to the last document tokens and to those of the query's words."""
    realised = realise_for_patching(pair, ranker)
    reading = Reading.of(ranker, *realised.texts.perturbed)
    scores = ranker.score(list(realised.texts))
    document = _shown(reading, realised.names)
    tokenizer = ranker.pieces.tokenizer
    pieces = [str(tokenizer.id_to_token(number)) for number in reading.tokens.ids]
    return {
        "query": pair.query,
        "term": pair.term,
        "text": realised.texts.perturbed[1],
        "base": float(scores[0]),
        "perturbed": float(scores[1]),
        "query_tokens": [pieces[i] for i in reading.query],
        "document_tokens": [pieces[i] for i in document],
        "injected": [realised.names[i] == "inj" for i in document],
        "scoring": {str(h): _rows(reading, h, [0], reading.query)[0] for h in circuit.role("scoring")},
        "contextualization": {
            str(h): _rows(reading, h, reading.query, reading.query) for h in circuit.role("contextualization")
        },
        "matching": {str(h): _rows(reading, h, reading.query, document) for h in circuit.role("matching")},
    }


def short_pair(pairs: Sequence[MinimalPair]) -> MinimalPair:
    """The pair with the shortest texts: an example should fit on a page."""
    return min(pairs, key=lambda pair: (len(pair.query) + len(pair.perturbed), pair.id))


def _shown(reading: Reading, names: Sequence[str]) -> list[int]:
    """Document tokens of the change and of query words, filled up with the last others, in their order."""
    telling = [i for i in reading.document if names[i] in ("inj", "qterm+", "qterm-")]
    others = [i for i in reversed(reading.document) if i not in set(telling)]
    kept = [*reversed(telling[-SHOWN:]), *others][:SHOWN]
    return sorted(kept)


def _rows(reading: Reading, head: Head, rows: Sequence[int], columns: Sequence[int]) -> list[list[float]]:
    found = reading.block(rows, columns)[head.layer, head.head]
    return [[round(float(value), 4) for value in row] for row in found]
