"""`rank`: a collection's candidates, re-ranked; from names to the run."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self

from whyrank.collections.collection import Collection
from whyrank.collections.opening import (
    FIRST_STAGES,
    MOST_PAIRS,
    RUN_FILE,
    all_documents,
    collection_of,
    first_stage_of,
    run_of,
)
from whyrank.collections.records import Retrieved, Run, fingerprint_of
from whyrank.collections.trec import write_run
from whyrank.core import runs
from whyrank.core.caller import SILENT, Caller
from whyrank.core.errors import UserError
from whyrank.core.parameters import check_counts
from whyrank.core.results import Result, table
from whyrank.rankers.neural import NeuralRanker
from whyrank.rankers.opening import rankers_of
from whyrank.rankers.passages import BestPassage
from whyrank.rankers.ranker import Ranker
from whyrank.rankers.rerank import rerank

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

#: How a document that is longer than the ranker reads may be scored.
PASSAGES = ("max",)
#: Candidates of each query, where nothing else is asked for.
DEPTH = 100


@dataclass(frozen=True, repr=False)
class RankedRun(Result):
    """A new order of the candidates of each query, and what it was made from."""

    FILE: ClassVar[str] = "rank.json"
    COMMAND: ClassVar[str] = "rank"

    ranker: str
    source: str
    collection: str
    split: str | None
    candidates: str
    queries: int
    #: Queries of the collection without any candidate.
    without_candidates: int
    pairs: int
    #: Documents that are longer than the ranker reads.
    cut: int
    rows: tuple[Retrieved, ...] = table()

    @property
    def run(self) -> Run:
        """The rows by query, best first."""
        found: Run = {}
        for row in self.rows:
            found.setdefault(row.qid, []).append(row)
        return found

    @classmethod
    def read(cls, folder: Path | str) -> Self:
        rows = tuple(row for found in run_of(folder).values() for row in found)
        return replace(super().read(folder), rows=rows)

    def to_pandas(self) -> pd.DataFrame:
        """Columns qid, docno, rank, score, tag."""
        import pandas as pd

        return pd.DataFrame(self.rows, columns=list(Retrieved._fields))

    def verdict(self) -> list[str]:
        """What was ranked, and what was not read whole."""
        said = f"{self.ranker} ranked {self.pairs} candidates ({self.candidates}) of {self.queries} queries."
        cut = f"{self.cut} of {self.pairs} documents are longer than it reads and were cut."
        return [said, cut] if self.cut else [said]

    def plot(self, axes: Axes | None = None) -> Axes:
        """The scores over the ranks, one thin line per query."""
        from matplotlib.figure import Figure

        axes = axes if axes is not None else Figure(figsize=(6.4, 3.6), layout="constrained").subplots()
        for rows in self.run.values():
            axes.plot([row.rank for row in rows], [row.score for row in rows], linewidth=0.6, alpha=0.5)
        axes.set_xlabel("rank")
        axes.set_ylabel(f"score of {self.ranker}")
        return axes

    def write_tables(self, folder: Path) -> list[Path]:
        write_run(folder / RUN_FILE, self.run)
        return [folder / RUN_FILE]


def rank(
    ranker: str | Ranker,
    collection: str | Collection,
    *,
    run: Run | Path | str | None = None,
    first_stage: str = "bm25",
    depth: int | None = None,
    queries: int | None = None,
    max_pairs: int = MOST_PAIRS,
    passages: str | None = None,
    device: str = "cpu",
    out: Path | str | None = None,
    caller: Caller = SILENT,
) -> RankedRun:
    """Re-ranks the candidates of a collection's queries.

    The candidates are the first `depth` (100) of each query in `run` (a TREC file or run folder, or a run), or
    BM25's; or with `first_stage="all"` all documents, for a small collection: at most `max_pairs` pairs.
    `queries`: only the first n; `passages="max"`: a long document counts as its best passage.
    """
    check_counts(1, depth=depth, queries=queries, max_pairs=max_pairs)
    if first_stage not in FIRST_STAGES:
        raise UserError(f"unknown first stage '{first_stage}'", todo=f"choose {' or '.join(FIRST_STAGES)}")
    if first_stage == "all" and (run is not None or depth is not None):
        other = "a run" if run is not None else "a depth"
        raise UserError(
            f"all documents are candidates, so there is no use for {other}", todo="leave one of them out"
        )
    if passages is not None and passages not in PASSAGES:
        raise UserError(f"unknown passages '{passages}'", todo=f"choose {' or '.join(PASSAGES)}, or leave it out")
    opened = collection_of(collection, caller)
    if first_stage == "all":
        candidates, origin = all_documents(opened, queries, max_pairs), "all documents"
    else:
        candidates, origin = first_stage_of(opened, run, depth or DEPTH)
        candidates = {qid: rows[: depth or DEPTH] for qid, rows in list(candidates.items())[:queries]}
    (model,) = rankers_of(ranker, opened, caller, device)
    inputs = {
        "ranker": model.fingerprint(),
        "collection": opened.fingerprint(),
        "candidates": fingerprint_of(candidates),
        "passages": passages,
    }
    with runs.Run.open(out, RankedRun.COMMAND, inputs, caller) as where:
        return where.finished(RankedRun) or _ranked(
            where, _by_passages(model, passages), opened, candidates, origin
        )


def _ranked(where: runs.Run, ranker: Ranker, collection: Collection, candidates: Run, origin: str) -> RankedRun:
    started, total = time.monotonic(), sum(map(len, candidates.values()))
    with where.caller.progress(f"re-ranking {origin}", total, "pairs") as advance:
        found = rerank(ranker, collection, candidates, shards=where.work("shards"), progress=advance)
    seconds = time.monotonic() - started
    if found.markup:
        where.say(found.markup)
    where.say(f"{found.pairs} pairs of {len(found.run)} queries in {seconds:.1f} s "
              f"({found.pairs / seconds:.0f} pairs/s)")  # fmt: skip
    result = RankedRun(
        ranker=ranker.name,
        source=str(ranker.source),
        collection=collection.name,
        split=collection.split,
        candidates=origin,
        queries=len(found.run),
        without_candidates=sum(qid not in candidates for qid in collection.queries),
        pairs=found.pairs,
        cut=found.cut,
        rows=tuple(row for rows in found.run.values() for row in rows),
    )
    where.save(result, ranker=repr(ranker), pairs=found.pairs, cut=found.cut, split=collection.split)
    return result


def _by_passages(ranker: Ranker, passages: str | None) -> Ranker:
    if passages is None:
        return ranker
    if not isinstance(ranker, NeuralRanker):
        raise UserError(f"{ranker.name} reads documents of any length", todo="leave passages out")
    return BestPassage(ranker)
