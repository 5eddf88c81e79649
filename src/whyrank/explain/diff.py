"""`diff`: two rankings of the same queries: what moved, what that gained or lost, and the words behind it.

The queries that changed most are those whose rankings agree least: rank-biased overlap (Webber et al. 2010) of
their first documents. For the documents that moved most, both rankers explain their own scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from whyrank.collections.collection import Collection
from whyrank.collections.opening import collection_of, qrels_of, run_of
from whyrank.collections.records import Qrels, fingerprint_of
from whyrank.collections.records import Run as TrecRun
from whyrank.core.caller import SILENT, Caller
from whyrank.core.errors import UserError
from whyrank.core.parameters import check_counts, check_seed
from whyrank.core.results import Result
from whyrank.core.runs import Run
from whyrank.evaluation.estimate import Comparison, Estimate
from whyrank.evaluation.measures import per_query
from whyrank.explain.removal import removal
from whyrank.explain.scored import ScoredTexts
from whyrank.explain.words import WordSearch
from whyrank.pages.numbers import counted
from whyrank.rankers.opening import Given, rankers_of
from whyrank.rankers.ranker import Ranker

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from whyrank.core.runs import Manifest

#: How much rank-biased overlap cares for what stands deeper.
PERSISTENCE = 0.9


@dataclass(frozen=True)
class WordChange:
    """What a word adds to a document's score under each ranker, as a share of its largest effect there: two
    rankers' scores have no common unit."""

    word: str
    before: float | None
    after: float | None


@dataclass(frozen=True)
class Move:
    """A document of a query that moved: its ranks (None: not among those compared), its grade where it is judged,
    and the words behind its score before and after."""

    qid: str
    docid: str
    before: int | None
    after: int | None
    grade: int | None
    words: tuple[WordChange, ...] = ()

    @property
    def seen(self) -> float:
        """How far it moved, as a reader sees it: the difference of 1 / rank."""
        return (1 / self.after if self.after else 0.0) - (1 / self.before if self.before else 0.0)


@dataclass(frozen=True)
class QueryDiff:
    """A query whose ranking changed: the overlap of both (1: the same), the measure in both, its largest moves."""

    qid: str
    query: str
    overlap: float
    before: float | None
    after: float | None
    moves: tuple[Move, ...]


@dataclass(frozen=True, repr=False)
class RunDiff(Result):
    """Two rankings compared; the first is the one before."""

    FILE: ClassVar[str] = "diff.json"
    COMMAND: ClassVar[str] = "diff"

    before: str
    after: str
    queries: int
    #: Queries that only one of them has.
    only_before: int
    only_after: int
    changed: int
    depth: int
    overlap: Estimate
    measure: str | None
    comparison: Comparison | None
    gained: int
    lost: int
    rows: tuple[QueryDiff, ...]

    def verdict(self) -> list[str]:
        """How many queries changed, what that cost or gained, and the largest move."""
        first = f"{self.changed} of {counted(self.queries, 'query', 'queries')} changed in the first {self.depth}"
        said = [f"{first}; mean overlap {self.overlap.text('.2f')}."]
        if self.comparison is not None:
            said.append(
                f"{self.measure}: {self.comparison.text()}; better on {self.gained}, worse on {self.lost}."
            )
        moves = [(row, move) for row in self.rows for move in row.moves]
        if moves:
            row, move = max(moves, key=lambda pair: abs(pair[1].seen))
            ranks = f"rank {rank_text(move.before)} to {rank_text(move.after)}"
            said.append(f"Largest move: {move.docid} of '{row.query}', {ranks}.")
        return said

    def to_pandas(self) -> pd.DataFrame:
        """One row per query and moved document."""
        import pandas as pd

        columns = ["qid", "docid", "before", "after", "grade"]
        rows = [[getattr(move, name) for name in columns] for row in self.rows for move in row.moves]
        return pd.DataFrame(rows, columns=columns).astype(dict.fromkeys(columns[2:], "Int64"))

    def plot(self, axes: Axes | None = None) -> Axes:
        """Where judged, what each changed query gained or lost; else how much of each ranking is left."""
        from whyrank.plots.marked_text import draw_bars
        from whyrank.plots.style import new_axes

        rows = self.rows[:20]
        if self.measure is not None:
            bars = [(row.query[:40], (row.after or 0.0) - (row.before or 0.0)) for row in rows]
            bars.sort(key=lambda one: -one[1])
        else:
            bars = [(row.query[:40], row.overlap) for row in rows]
        axes = axes if axes is not None else new_axes(6.2, 0.9 + 0.3 * len(bars))
        return draw_bars(axes, bars, f"change of {self.measure}" if self.measure else "overlap")

    def write_report(self, path: Path, manifest: Manifest) -> Path:
        from whyrank.explain.diff_report import diff_page

        return diff_page(self).write(path, manifest)


def diff(
    before: TrecRun | Path | str | Any,
    after: TrecRun | Path | str | Any,
    *,
    collection: str | Collection | None = None,
    qrels: Qrels | Collection | Path | str | None = None,
    rankers: Sequence[Given] = (),
    measure: str = "nDCG@10",
    depth: int = 10,
    queries: int = 10,
    documents: int = 3,
    budget: int = 150,
    seed: int = 0,
    device: str = "cpu",
    out: Path | str | None = None,
    caller: Caller = SILENT,
) -> RunDiff:
    """What changed between two runs (TREC files, run folders, results of `rank`), over the queries of both.

    `qrels`, or a `collection` that has judgements: gains and losses in the measure. `rankers`: the two that made
    the runs, in their order; with the collection's texts they explain the `documents` that moved most in each of
    the `queries` that changed most, scoring at most `budget` texts for each document and ranker.
    """
    check_counts(1, depth=depth, queries=queries, documents=documents)
    check_seed(seed)
    opened = None if collection is None else collection_of(collection, caller)
    runs = {"before": run_of(before), "after": run_of(after)}
    shared = [qid for qid in runs["before"] if qid in runs["after"]]
    if not shared:
        raise UserError("the two runs have no query in common", todo="give two runs of the same queries")
    judged = _judgements(opened, qrels)
    models = _models(rankers, opened, device, caller)
    inputs = {
        "before": fingerprint_of(runs["before"]), "after": fingerprint_of(runs["after"]),
        "collection": opened and opened.fingerprint(), "qrels": judged, "measure": measure, "depth": depth,
        "rankers": [one.fingerprint() for one in models], "queries": queries, "documents": documents,
        "budget": budget, "seed": seed,
    }  # fmt: skip
    with Run.open(out, RunDiff.COMMAND, inputs, caller) as place:
        result = place.finished(RunDiff)
        if result is None:
            work = _Diff(runs["before"], runs["after"], shared, judged, measure, depth, seed)
            rows = work.rows(opened.queries if opened else {}, queries, documents)
            if models and opened is not None:
                rows = _explained(rows, models, opened, budget, place)
            result = work.result((_name(before, "before"), _name(after, "after")), rows)
            place.save(result)
        return result


@dataclass(frozen=True)
class _Diff:
    """The two runs, and what they are judged by."""

    before: TrecRun
    after: TrecRun
    shared: list[str]
    qrels: Qrels
    measure: str
    depth: int
    seed: int

    def result(self, names: tuple[str, str], rows: tuple[QueryDiff, ...]) -> RunDiff:
        values = self._values()
        gaps = [after - before for before, after in values.values()]
        overlaps = {qid: self._overlap(qid) for qid in self.shared}
        return RunDiff(
            before=names[0], after=names[1], queries=len(self.shared),
            only_before=len(self.before) - len(self.shared), only_after=len(self.after) - len(self.shared),
            changed=sum(self._top(self.before, qid) != self._top(self.after, qid) for qid in self.shared),
            depth=self.depth,
            overlap=Estimate.mean(list(overlaps.values()), self.shared, self.seed, within=(0, 1)),
            measure=self.measure if values else None,
            comparison=Comparison.family([gaps], seed=self.seed)[0] if values else None,
            gained=sum(gap > 0 for gap in gaps), lost=sum(gap < 0 for gap in gaps), rows=rows,
        )  # fmt: skip

    def rows(self, queries: dict[str, str], most: int, documents: int) -> tuple[QueryDiff, ...]:
        """The queries that changed most: where judged, by the measure; then by their overlap."""
        values = self._values()
        overlaps = {qid: self._overlap(qid) for qid in self.shared}

        def change(qid: str) -> tuple[float, float]:
            before, after = values.get(qid, (0.0, 0.0))
            return -abs(after - before), overlaps[qid]

        changed = [qid for qid in self.shared if self._top(self.before, qid) != self._top(self.after, qid)]
        found = []
        for qid in sorted(changed, key=change)[:most]:
            before, after = values.get(qid, (None, None))
            moves = self._moves(qid)[:documents]
            found.append(QueryDiff(qid, queries.get(qid, qid), overlaps[qid], before, after, moves))
        return tuple(found)

    def _moves(self, qid: str) -> tuple[Move, ...]:
        ranks = [
            {docid: rank for rank, docid in enumerate(self._top(run, qid), start=1)}
            for run in (self.before, self.after)
        ]
        grades = self.qrels.get(qid, {})
        moves = [
            Move(qid, docid, ranks[0].get(docid), ranks[1].get(docid), grades.get(docid))
            for docid in dict.fromkeys([*ranks[0], *ranks[1]])
            if ranks[0].get(docid) != ranks[1].get(docid)
        ]
        return tuple(sorted(moves, key=lambda move: -abs(move.seen)))

    def _top(self, run: TrecRun, qid: str) -> list[str]:
        return [row.docno for row in sorted(run[qid], key=lambda row: row.rank)[: self.depth]]

    def _overlap(self, qid: str) -> float:
        return rank_biased_overlap(self._top(self.before, qid), self._top(self.after, qid))

    def _values(self) -> dict[str, tuple[float, float]]:
        """The measure of each judged query that both runs have."""
        judged = {qid: self.qrels[qid] for qid in self.shared if qid in self.qrels}
        if not judged:
            return {}
        columns = [
            {one.qid: one.value for one in per_query({qid: run[qid] for qid in judged}, judged, [self.measure])}
            for run in (self.before, self.after)
        ]
        return {qid: (columns[0][qid], columns[1][qid]) for qid in judged}


def rank_biased_overlap(first: Sequence[str], second: Sequence[str], persistence: float = PERSISTENCE) -> float:
    """sum over d of p^(d-1) |A_1..d and B_1..d| / d, divided by what two equal rankings of this length have."""
    depth = max(len(first), len(second))
    weights = [persistence**d for d in range(depth)]
    shares = [len(set(first[: d + 1]) & set(second[: d + 1])) / (d + 1) for d in range(depth)]
    ceilings = [min(d + 1, len(first), len(second)) / (d + 1) for d in range(depth)]
    best = sum(w * c for w, c in zip(weights, ceilings, strict=True))
    return sum(w * s for w, s in zip(weights, shares, strict=True)) / best if best else 0.0


def _explained(
    rows: Sequence[QueryDiff], models: Sequence[Ranker], collection: Collection, budget: int, place: Run
) -> tuple[QueryDiff, ...]:
    """The rows, each move with the words behind both scores."""
    texts = collection.texts(dict.fromkeys(move.docid for row in rows for move in row.moves))
    found = []
    with place.progress("explaining moves", sum(len(row.moves) for row in rows), "documents") as advance:
        for row in rows:
            moves = []
            for move in row.moves:
                moves.append(replace(move, words=_words(row.query, texts[move.docid], models, budget)))
                advance(1)
            found.append(replace(row, moves=tuple(moves)))
    return tuple(found)


def _words(query: str, text: str, models: Sequence[Ranker], budget: int) -> tuple[WordChange, ...]:
    """The words' shares of the largest effect under each ranker, the largest changes first."""
    sides = []
    for model in models:
        found = WordSearch(
            ScoredTexts(model, budget), query, text, partial(removal, "replace", model, query)
        ).found()
        largest = max((abs(one.effect) for one in found.terms), default=0.0) or 1.0
        sides.append({one.word: one.effect / largest for one in found.terms})
    every = dict.fromkeys([*sides[0], *sides[1]])
    changes = [WordChange(word, sides[0].get(word), sides[1].get(word)) for word in every]
    return tuple(sorted(changes, key=lambda one: -abs((one.after or 0.0) - (one.before or 0.0)))[:8])


def _judgements(collection: Collection | None, given: Qrels | Collection | Path | str | None) -> Qrels:
    if given is not None:
        return qrels_of(given)[0]
    return collection.qrels if collection is not None else {}


def _models(given: Sequence[Given], collection: Collection | None, device: str, caller: Caller) -> list[Ranker]:
    if not given:
        return []
    if len(given) != 2 or collection is None:
        raise UserError("words behind moves need both rankers and the texts", todo="give 2 rankers and collection")
    return [rankers_of(one, collection, caller, device)[0] for one in given]


def _name(given: object, otherwise: str) -> str:
    return str(given) if isinstance(given, Path | str) else otherwise


def rank_text(rank: int | None) -> str:
    """A rank, or that there is none."""
    return "none" if rank is None else str(rank)
