"""Queries that a search does not see, on which what it found is measured."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from whyrank.axioms.pair import MinimalPair
from whyrank.evaluation.interval import FEWEST_QUERIES

#: The part of the queries that is held out.
SHARE = 0.25
#: With fewer queries none is held out: what is left would be too few to search with.
LEAST_QUERIES = 3 * FEWEST_QUERIES

Sets = Mapping[str, Sequence[MinimalPair]]


class Split(NamedTuple):
    """The pairs by set: of the queries to search with, and of those held out. Where there are too few queries to
    hold some out, both are all pairs, and `held_out` is False."""

    searched: dict[str, list[MinimalPair]]
    measured: dict[str, list[MinimalPair]]
    held_out: bool


def split_queries(sets: Sets, share: float = SHARE, seed: int = 0) -> Split:
    """The same queries are held out of all sets; each set must have some on both sides."""
    queries = sorted({query_of(pair) for pairs in sets.values() for pair in pairs})
    count = max(FEWEST_QUERIES, round(share * len(queries)))
    drawn = (
        set(random.Random(f"{seed} held out").sample(queries, count)) if len(queries) >= LEAST_QUERIES else set()
    )
    measured = {name: [pair for pair in pairs if query_of(pair) in drawn] for name, pairs in sets.items()}
    searched = {name: [pair for pair in pairs if query_of(pair) not in drawn] for name, pairs in sets.items()}
    if all(measured.values()) and all(searched.values()):
        return Split(searched, measured, True)
    every = {name: list(pairs) for name, pairs in sets.items()}
    return Split(every, every, False)


def query_of(pair: MinimalPair) -> str:
    """A pair that names no query is its own."""
    return pair.qid or pair.id
