"""How well a ranker orders the candidates of some queries, again and again while it learns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from whyrank.collections.records import Qrels, Retrieved
from whyrank.core.progress import Progress
from whyrank.evaluation.measures import AnyRun, per_query
from whyrank.learning.material import Material
from whyrank.rankers.ranker import Pair, Ranker

#: Measure -> query -> value.
Values = dict[str, dict[str, float]]


@dataclass(frozen=True, eq=False)
class Candidates:
    """The candidates of some queries, with their texts and judgements."""

    rows: list[Retrieved]
    pairs: list[Pair]
    qrels: Qrels

    @classmethod
    def of(cls, material: Material, qids: Iterable[str]) -> Candidates:
        chosen = list(qids)
        rows = material.rows(chosen)
        pairs = [material.pair(row.qid, row.docno) for row in rows]
        return cls(rows, pairs, {qid: material.qrels[qid] for qid in chosen})

    def measured(self, ranker: Ranker, measures: Sequence[str], progress: Progress | None = None) -> Values:
        """The measures of the candidates in the order that the ranker gives them."""
        return self.values(self.scores(ranker, progress), measures)

    def scores(self, ranker: Ranker, progress: Progress | None = None) -> list[float]:
        """The ranker's scores of the candidates, in the order of `rows`."""
        return ranker.scores(self.pairs, progress).values.tolist()

    def first_stage(self, measures: Sequence[str]) -> Values:
        """The same in the order they came in."""
        return self.values([row.score for row in self.rows], measures)

    def grades(self) -> list[int]:
        """Of the candidates, in the order of `rows`; what nobody judged is 0."""
        return [self.qrels[row.qid].get(row.docno, 0) for row in self.rows]

    def values(self, scores: Sequence[float], measures: Sequence[str]) -> Values:
        """The same in the order of some scores."""
        run: dict[str, dict[str, float]] = {qid: {} for qid in self.qrels}
        for row, score in zip(self.rows, scores, strict=True):
            run[row.qid][row.docno] = score
        by_query: AnyRun = run
        found: Values = {}
        for qid, measure, value in per_query(by_query, self.qrels, measures):
            found.setdefault(measure, {})[qid] = value
        return found
