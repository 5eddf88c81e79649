"""Queries parted into those that are learned from, those that choose the model, and those it is tested on.

Parted by query, never by pair: two pairs of one query are not independent, and a model that has seen one of them
in training has seen half of the other.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from whyrank.errors import UserError

#: One query in so many is for validation, as many are for the test.
SHARE = 5
#: Six to learn from, two to choose by, two to test on.
LEAST = 10


@dataclass(frozen=True)
class Split:
    """Query ids in three parts that have nothing in common."""

    train: tuple[str, ...]
    validation: tuple[str, ...]
    test: tuple[str, ...]

    def __post_init__(self) -> None:
        every = [*self.train, *self.validation, *self.test]
        assert len(set(every)) == len(every), "a query stands in two parts of a split"

    def __iter__(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """The parts by name."""
        return iter((("train", self.train), ("validation", self.validation), ("test", self.test)))


def split_queries(qids: Iterable[str], seed: int = 0, where: str | None = None) -> Split:
    """60% train, 20% validation, 20% test; the same queries and seed give the same split, in whatever order
    the queries come."""
    shuffled = sorted(set(qids))
    if len(shuffled) < LEAST:
        raise UserError(
            f"{len(shuffled)} judged quer{'y' if len(shuffled) == 1 else 'ies'} cannot be split",
            where=where,
            todo=f"{LEAST} are needed, each with a relevant document and candidates to rank: 6 to learn from, "
            "2 to choose the model by, 2 to test it on",
        )
    random.Random(f"split/{seed}").shuffle(shuffled)
    held = len(shuffled) // SHARE
    return Split(
        train=tuple(shuffled[2 * held :]), validation=tuple(shuffled[:held]), test=tuple(shuffled[held : 2 * held])
    )
