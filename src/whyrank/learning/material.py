"""What a collection offers to learn from, and how well a ranker orders its candidates while it learns.

Judged queries, their candidates and relevant documents, with texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from whyrank.collections.collection import Collection
from whyrank.collections.records import Qrels, Queries, Retrieved, Run
from whyrank.core.errors import UserError
from whyrank.core.progress import Progress
from whyrank.evaluation.measures import AnyRun, per_query
from whyrank.rankers.ranker import Pair, Ranker


@dataclass(frozen=True, eq=False)
class Material:
    """Queries that can be learned from or tested on: all that are judged or, where it is asked for, those with
    candidates of a first stage and a relevant document that the collection holds. Texts are held, so that no epoch
    reads the collection again.

    `positives` are the documents graded high enough; `missing_documents` counts those that the collection has no
    text of, `dropped_queries` the judged queries that are not among these.
    """

    name: str
    queries: Queries
    qrels: Qrels
    candidates: Run
    positives: dict[str, tuple[str, ...]]
    texts: dict[str, str]
    missing_documents: int
    dropped_queries: int

    @classmethod
    def of(
        cls,
        collection: Collection,
        first: Run,
        *,
        k: int = 100,
        positive: int = 1,
        most: int | None = None,
        relevant: bool = True,
    ) -> Material:
        """The first k candidates of the first `most` queries; a document graded `positive` or more is positive.
        Without `relevant`, queries without a positive in the collection or without candidates stay: a test counts
        them as evaluation does, as 0."""
        if not collection.qrels:
            raise UserError("this collection has no judgements", where=collection.name, todo="learning needs some")
        judged = {qid: _graded(grades, positive) for qid, grades in collection.qrels.items()}
        wanted = {docno for docnos in judged.values() for docno in docnos}
        known = {docno for docno, _ in collection.documents() if docno in wanted}
        held = {qid: tuple(docno for docno in docnos if docno in known) for qid, docnos in judged.items()}
        usable = [qid for qid, docnos in held.items() if not relevant or (docnos and first.get(qid))]
        chosen = list(islice(usable, most))
        candidates = {qid: list(first.get(qid, ()))[:k] for qid in chosen}
        positives = {qid: held[qid] for qid in chosen}
        queries = {qid: collection.queries[qid] for qid in chosen}
        qrels = {qid: collection.qrels[qid] for qid in chosen}
        return cls(
            name=collection.name,
            queries=queries,
            qrels=qrels,
            candidates=candidates,
            positives=positives,
            texts=collection.texts(_documents(candidates, positives)),
            missing_documents=sum(len(judged[qid]) - len(held[qid]) for qid in chosen),
            dropped_queries=len(judged) - len(usable),
        )

    @property
    def not_found(self) -> int:
        """How many queries have no candidates."""
        return sum(not rows for rows in self.candidates.values())

    def negatives(self, qid: str) -> tuple[str, ...]:
        """A query's candidates that are not positive; one that nobody judged counts as not relevant."""
        positive = set(self.positives[qid])
        return tuple(row.docno for row in self.candidates[qid] if row.docno not in positive)

    def grade(self, qid: str, docno: str) -> int:
        """How relevant a document is to a query; 0 where nobody judged it."""
        return self.qrels[qid].get(docno, 0)

    def pair(self, qid: str, docno: str) -> tuple[str, str]:
        """The texts of a query and a document."""
        return self.queries[qid], self.texts[docno]

    def rows(self, qids: Iterable[str]) -> list[Retrieved]:
        """The candidates of some queries."""
        return [row for qid in qids for row in self.candidates[qid]]


def _graded(grades: dict[str, int], positive: int) -> list[str]:
    return [docno for docno, grade in grades.items() if grade >= positive]


def _documents(candidates: Run, positives: dict[str, tuple[str, ...]]) -> Iterable[str]:
    found = [row.docno for rows in candidates.values() for row in rows]
    return dict.fromkeys([*found, *(docno for docnos in positives.values() for docno in docnos)])


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
        """The measures of the candidates in the ranker's order."""
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
