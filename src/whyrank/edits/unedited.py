"""A collection as a ranker orders it before any edit, and as it orders it with one.

Only the pairs that the ranker reads with a changed token are scored again: the scores of all others cannot change.
"""

from __future__ import annotations

import math
from collections.abc import Collection as Container
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

import numpy as np

from whyrank.collections.collection import Collection
from whyrank.collections.records import Qrels, Retrieved, Run
from whyrank.core.progress import OpenProgress, no_progress
from whyrank.core.stages import Stages
from whyrank.edits.rows import RowChange, applied, reads_any
from whyrank.rankers.neural import NeuralRanker
from whyrank.rankers.ranker import Pair
from whyrank.rankers.rerank import rerank
from whyrank.rankers.shards import score_in_shards


@dataclass(frozen=True, eq=False)
class Unedited:
    """The ranking before any edit: query after query, each one's documents best first, with their texts."""

    ranker: NeuralRanker
    rows: list[Retrieved]
    pairs: list[Pair]
    queries: dict[str, str]
    qrels: Qrels

    @classmethod
    def ranked(
        cls,
        ranker: NeuralRanker,
        collection: Collection,
        first: Run,
        *,
        depth: int = 20,
        shards: Path | None = None,
        step: OpenProgress | None = None,
    ) -> Unedited:
        """The first `depth` documents of each query of a first stage, by the ranker as it is."""
        with (step or no_progress)(
            "ranking unedited", sum(len(rows[:depth]) for rows in first.values())
        ) as advance:
            run = rerank(
                ranker, collection, first, k=depth, shards=Stages(shards).shards("unedited"), progress=advance
            ).run
        rows = [row for found in run.values() for row in found]
        texts = collection.texts(dict.fromkeys(row.docno for row in rows))
        queries = {qid: collection.queries[qid] for qid in run}
        qrels = {qid: grades for qid, grades in collection.qrels.items() if qid in run}
        return cls(ranker, rows, [(queries[row.qid], texts[row.docno]) for row in rows], queries, qrels)

    @property
    def scores(self) -> np.ndarray:
        return np.array([row.score for row in self.rows])

    @property
    def deviation(self) -> float | None:
        """The standard deviation of the scores within queries, pooled; None where no query has two that differ."""
        by_query: dict[str, list[float]] = {}
        for row in self.rows:
            by_query.setdefault(row.qid, []).append(row.score)
        some = [np.array(scores) for scores in by_query.values()]
        freedom = sum(len(one) - 1 for one in some)
        squares = sum(float(((one - one.mean()) ** 2).sum()) for one in some)
        return math.sqrt(squares / freedom) if freedom and squares else None

    def of(self, qids: Container[str]) -> Unedited:
        """Some of the queries only."""
        places = [i for i, row in enumerate(self.rows) if row.qid in qids]
        queries = {qid: text for qid, text in self.queries.items() if qid in qids}
        qrels = {qid: grades for qid, grades in self.qrels.items() if qid in qids}
        rows, pairs = [self.rows[i] for i in places], [self.pairs[i] for i in places]
        return replace(self, rows=rows, pairs=pairs, queries=queries, qrels=qrels)

    def rescored(
        self,
        change: RowChange,
        *,
        by: NeuralRanker | None = None,
        also: Sequence[int] = (),
        name: str = "edited",
        shards: Path | None = None,
        step: OpenProgress | None = None,
    ) -> tuple[np.ndarray, int]:
        """The scores with the change, and how many pairs were scored for them. `by` another ranker than the
        unedited one, whose scores differ where it reads one of the tokens in `also`, too."""
        ranker = by or self.ranker
        touched = np.flatnonzero(reads_any(ranker, [*change.moved, *also], self.pairs))
        scores = self.scores
        some = [self.pairs[i] for i in touched]
        if not some:
            return scores, 0
        with applied(ranker, change), (step or no_progress)(f"ranking {name}", len(some)) as advance:
            scores[touched] = score_in_shards(ranker, some, Stages(shards).shards(name), advance).values
        return scores, len(some)

    def run(self, scores: np.ndarray) -> Run:
        """The documents ordered by these scores; ties keep the order they had."""
        found: Run = {}
        ordered = zip(self.rows, scores.tolist(), strict=True)
        for qid, group in groupby(ordered, key=lambda pair: pair[0].qid):
            best = sorted(group, key=lambda pair: -pair[1])
            found[qid] = [
                Retrieved(qid, row.docno, rank, score, row.tag) for rank, (row, score) in enumerate(best, start=1)
            ]
        return found
