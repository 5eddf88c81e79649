"""The (query, document, relevant or not) examples of an epoch: every positive, with a few sampled negatives."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from whyrank.learning.material import Material


class Example(NamedTuple):
    """A document that is relevant to a query (label 1) or not (label 0)."""

    qid: str
    docno: str
    label: float


@dataclass(frozen=True)
class PairsToLearn:
    """For each query its positives, the documents its negatives are drawn from, and how many a positive gets.

    A negative is never another positive of the query. Where a query has fewer, it gets those it has.
    """

    queries: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...]
    negatives: int = 3

    @classmethod
    def of(cls, material: Material, qids: Iterable[str], negatives: int = 3) -> PairsToLearn:
        return cls(tuple((qid, material.positives[qid], material.negatives(qid)) for qid in qids), negatives)

    def __len__(self) -> int:
        """Examples an epoch; every epoch has as many."""
        return sum(len(positives) * (1 + self._drawn(pool)) for _, positives, pool in self.queries)

    @property
    def positives(self) -> int:
        return sum(len(positives) for _, positives, _ in self.queries)

    def steps(self, batch: int) -> int:
        """Steps an epoch, in batches of so many examples."""
        return math.ceil(len(self) / batch)

    def batches(self, seed: int, epoch: int, batch: int) -> list[list[Example]]:
        """The examples of an epoch, some at a time."""
        examples = self.epoch(seed, epoch)
        return [examples[start : start + batch] for start in range(0, len(examples), batch)]

    def epoch(self, seed: int, epoch: int) -> list[Example]:
        """The examples of an epoch in the order they are learned, both decided by seed and epoch alone."""
        examples = [example for query in self.queries for example in self._examples(seed, epoch, *query)]
        random.Random(f"order/{seed}/{epoch}").shuffle(examples)
        return examples

    def _examples(
        self, seed: int, epoch: int, qid: str, positives: tuple[str, ...], pool: tuple[str, ...]
    ) -> list[Example]:
        draw = random.Random(f"negatives/{seed}/{epoch}/{qid}")
        found: list[Example] = []
        for docno in positives:
            found.append(Example(qid, docno, 1.0))
            found += [Example(qid, other, 0.0) for other in draw.sample(pool, self._drawn(pool))]
        return found

    def _drawn(self, pool: tuple[str, ...]) -> int:
        return min(self.negatives, len(pool))
