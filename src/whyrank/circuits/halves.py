"""Two halves of the queries: a circuit is chosen on one and confirmed on the other.

A query stands on one side with all of its pairs, of whatever set (terms and synonyms of one query are not
independent). Queries that the same sets have are dealt out in turn, so that each half has about half of every
set's. Of a half, pairs are drawn query by query: as many queries as there can be, since it is queries that count.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from whyrank.axioms.pair import MinimalPair
from whyrank.evaluation.interval import FEWEST_QUERIES

Sets = Mapping[str, Sequence[MinimalPair]]


class Halves(NamedTuple):
    """The pairs of each set on the side where heads are chosen, and on the side where they are confirmed;
    `tested`: whether some set has enough queries on both for that. If not, all pairs are on the first side."""

    selection: dict[str, list[MinimalPair]]
    confirmation: dict[str, list[MinimalPair]]
    tested: bool

    @classmethod
    def drawn(cls, sets: Sets, count: int, seed: int) -> Halves:
        """About `count` pairs in all, as many of each set and half."""
        whole = split(sets, seed)
        each = -(-count // (2 * len(sets)))
        some = [{name: evenly(pairs, each, seed) for name, pairs in half.items()} for half in whole]
        if any(min(_queries(half[name]) for half in some) >= FEWEST_QUERIES for name in sets):
            return cls(some[0], some[1], True)
        every = {name: evenly(pairs, -(-count // len(sets)), seed) for name, pairs in sets.items()}
        return cls(every, {name: [] for name in sets}, False)


def split(sets: Sets, seed: int) -> list[dict[str, list[MinimalPair]]]:
    """Splits the queries of all sets by the seed."""
    names = query_names(sets)
    found_in: defaultdict[str, set[str]] = defaultdict(set)
    for name, pairs in sets.items():
        for pair in pairs:
            found_in[names[pair.id]].add(name)
    order = sorted(found_in)
    random.Random(f"{seed} halves").shuffle(order)
    order.sort(key=lambda query: sorted(found_in[query]))  # stable: shuffled among those of the same sets
    chosen = set(order[::2])
    return [
        {name: [pair for pair in pairs if (names[pair.id] in chosen) == here] for name, pairs in sets.items()}
        for here in (True, False)
    ]


def query_names(sets: Sets) -> dict[str, str]:
    """By pair's id, one name for each query: the first id that its text was given, or the text of one without."""
    ids: dict[str, str] = {}
    every = [pair for pairs in sets.values() for pair in pairs]
    for pair in every:
        if pair.qid:
            ids.setdefault(pair.query, pair.qid)
    return {pair.id: ids.get(pair.query, pair.query) for pair in every}


def evenly(pairs: Sequence[MinimalPair], count: int, seed: int) -> list[MinimalPair]:
    """So many pairs: one of each query in turn, then a second one."""
    names = query_names({"": pairs})
    drawn = random.Random(f"{seed} pairs").sample(list(pairs), len(pairs))
    seen: defaultdict[str, int] = defaultdict(int)
    turns: list[tuple[int, MinimalPair]] = []
    for pair in drawn:
        turns.append((seen[names[pair.id]], pair))
        seen[names[pair.id]] += 1
    turns.sort(key=lambda turn: turn[0])
    return [pair for _, pair in turns[:count]]


def _queries(pairs: Sequence[MinimalPair]) -> int:
    """How many there are, as statistics count them."""
    return len({pair.qid or pair.id for pair in pairs})
