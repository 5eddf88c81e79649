"""Pairs of a better and a worse document of one query, epoch by epoch."""

from __future__ import annotations

import math
import random
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, TypeVar

from whyrank.learning.material import Material

T = TypeVar("T")


class GradedPair(NamedTuple):
    """Two documents of a query, the first with the higher grade."""

    qid: str
    better: str
    worse: str


class GradedQuery(NamedTuple):
    """A query's documents that can be the better one, each with the number of the `others` that are worse: these
    are in ascending order of their grades, so that the worse ones come first."""

    qid: str
    better: tuple[tuple[str, int], ...]
    others: tuple[str, ...]


@dataclass(frozen=True)
class GradedPairs:
    """The queries to learn from; at most `positives` better documents of each per epoch, with `negatives`
    pairs each."""

    queries: tuple[GradedQuery, ...]
    negatives: int = 1
    positives: int | None = None

    @classmethod
    def of(
        cls,
        material: Material,
        qids: Iterable[str],
        negatives: int = 1,
        positives: int | None = None,
        unfound: bool = True,
    ) -> GradedPairs:
        """Better is what the material calls positive, candidate or not if `unfound`; worse is what has a lower
        grade among these and the query's candidates, where nobody's judgement counts as 0."""
        found = [_graded(material, qid, unfound) for qid in qids]
        return cls(tuple(query for query in found if query.better), negatives, positives)

    def __len__(self) -> int:
        """Pairs per epoch; a little less where some positives that are not always taken have few below them."""
        return sum(sum(self._counts(query)[::-1][: self.positives]) for query in self.queries)

    def _counts(self, query: GradedQuery) -> list[int]:
        """How many pairs each better document makes, ascending."""
        return sorted(min(self.negatives, worse) for _, worse in query.better)

    def smallest_part(self, batch: int, parts: int) -> int:
        """The fewest pairs of any of the parts that a step is read in, in any epoch."""
        fewest = sum(sum(self._counts(query)[: self.positives]) for query in self.queries)
        step = max(1, fewest // self.steps(batch))
        return step // min(parts, step)

    def steps(self, batch: int) -> int:
        """Steps per epoch, of at most so many pairs."""
        return max(1, math.ceil(len(self) / batch))

    def batches(self, seed: int, epoch: int, batch: int) -> list[list[GradedPair]]:
        """The pairs of an epoch in steps of similar sizes, none above `batch`."""
        return in_parts(self.epoch(seed, epoch), self.steps(batch))

    def epoch(self, seed: int, epoch: int) -> list[GradedPair]:
        """The pairs of an epoch in the order they are learned, both decided by seed and epoch alone.

        The pairs of each query are spread over the whole epoch, the i-th of n at (i + u)/n with u random, so that
        those who stand together come from different queries where there are several.
        """
        placed: list[tuple[float, GradedPair]] = []
        for query in self.queries:
            pairs = self._drawn(query, seed, epoch)
            start = random.Random(f"places/{seed}/{epoch}/{query.qid}").random()
            placed += [((i + start) / len(pairs), pair) for i, pair in enumerate(pairs)]
        return [pair for _, pair in sorted(placed)]

    def _drawn(self, query: GradedQuery, seed: int, epoch: int) -> list[GradedPair]:
        draw = random.Random(f"pairs/{seed}/{epoch}/{query.qid}")
        count = len(query.better) if self.positives is None else min(self.positives, len(query.better))
        pairs = [
            GradedPair(query.qid, better, query.others[place])
            for better, worse in draw.sample(query.better, count)
            for place in draw.sample(range(worse), min(self.negatives, worse))
        ]
        draw.shuffle(pairs)
        return pairs


def in_parts(items: Sequence[T], count: int) -> list[list[T]]:
    """So many runs of items one after another, of sizes that differ by one at most; empty ones are dropped."""
    edges = [number * len(items) // count for number in range(count + 1)]
    return [list(items[a:b]) for a, b in pairwise(edges) if a < b]


def _graded(material: Material, qid: str, unfound: bool) -> GradedQuery:
    candidates = {row.docno for row in material.candidates[qid]}
    positives = [docno for docno in material.positives[qid] if unfound or docno in candidates]
    grades = {docno: material.grade(qid, docno) for docno in positives}
    grades |= {row.docno: material.grade(qid, row.docno) for row in material.candidates[qid]}
    others = sorted(grades, key=lambda docno: grades[docno])
    ascending = [grades[docno] for docno in others]
    better = [(docno, bisect_left(ascending, grades[docno])) for docno in positives]
    return GradedQuery(qid, tuple((docno, worse) for docno, worse in better if worse), tuple(others))
