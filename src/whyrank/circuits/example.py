"""A worked example: one pair, and what the circuit's heads read in it."""

from __future__ import annotations

from collections.abc import Sequence

from whyrank.axioms.pair import MinimalPair
from whyrank.axioms.realise import realise_for_patching
from whyrank.circuits.head import Head
from whyrank.circuits.reading import Reading
from whyrank.circuits.results import CONTEXTUALIZATION, MATCHING, SCORING, Example
from whyrank.circuits.roles import Roles
from whyrank.rankers.cross_encoder import CrossEncoder

#: Document tokens shown, the change among them.
SHOWN = 24
Row = tuple[float, ...]


def worked_example(ranker: CrossEncoder, roles: Roles, pair: MinimalPair) -> Example:
    """The perturbed side of a pair: scoring heads' CLS rows and contextualization heads' rows over the query,
    matching heads' rows from the query to the last document tokens and to those of the query's words."""
    realised = realise_for_patching(pair, ranker)
    reading = Reading.of(ranker, *realised.texts.perturbed)
    base, perturbed = ranker.score(list(realised.texts))
    query, document = reading.query, _shown(reading, realised.names)
    tokenizer = ranker.pieces.tokenizer
    pieces = [str(tokenizer.id_to_token(number)) for number in reading.tokens.ids]
    return Example(
        query=pair.query,
        term=pair.term,
        text=realised.texts.perturbed[1],
        base=float(base),
        perturbed=float(perturbed),
        query_tokens=tuple(pieces[i] for i in query),
        document_tokens=tuple(pieces[i] for i in document),
        injected=tuple(realised.names[i] == "inj" for i in document),
        scoring={str(head): _rows(reading, head, [0], query)[0] for head in roles[SCORING]},
        contextualization={str(head): _rows(reading, head, query, query) for head in roles[CONTEXTUALIZATION]},
        matching={str(head): _rows(reading, head, query, document) for head in roles[MATCHING]},
    )


def short_pair(pairs: Sequence[MinimalPair]) -> MinimalPair:
    """The pair with the shortest texts: an example should fit on a page."""
    return min(pairs, key=lambda pair: (len(pair.query) + len(pair.perturbed), pair.id))


def _shown(reading: Reading, names: Sequence[str]) -> list[int]:
    """Document tokens of the change and of query words, filled up with the last others, in their order."""
    telling = [i for i in reading.document if names[i] in ("inj", "qterm+", "qterm-")]
    others = [i for i in reversed(reading.document) if i not in set(telling)]
    kept = [*reversed(telling[-SHOWN:]), *others][:SHOWN]
    return sorted(kept)


def _rows(reading: Reading, head: Head, rows: Sequence[int], columns: Sequence[int]) -> tuple[Row, ...]:
    found = reading.block(rows, columns)[head.layer, head.head]
    return tuple(tuple(round(float(value), 4) for value in row) for row in found)
