"""Re-ranking a collection's first stage, in shards that survive a kill."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from whyrank.collections.collection import Collection
from whyrank.collections.records import Retrieved, Run
from whyrank.errors import UserError
from whyrank.rankers.ranker import Progress, Ranker
from whyrank.store.atomic import write_text

#: Pairs a shard: what a kill can cost. Families that encode apart like large ones, to encode a text once.
PAIRS_A_SHARD = 4096


@dataclass
class Reranked:
    """The new run, the pairs scored, and how many of them were cut to the model's length."""

    run: Run = field(default_factory=dict)
    pairs: int = 0
    cut: int = 0


def rerank(
    ranker: Ranker,
    collection: Collection,
    first: Run,
    *,
    k: int = 100,
    shards: Path | None = None,
    progress: Progress | None = None,
) -> Reranked:
    """Scores the first k documents of each query again and sorts them by that (ties: the first stage's order).

    With `shards`, a folder that belongs to just this work, finished shards are kept there until all are
    done; a second call after a kill takes them up and gives the same run.
    """
    unknown = [qid for qid in first if qid not in collection.queries]
    if unknown:
        raise UserError(
            f"the run has {len(unknown)} queries that the collection lacks, such as {unknown[0]!r}",
            where=collection.name,
            todo="give the run that belongs to this collection",
        )
    top = {qid: rows[:k] for qid, rows in first.items() if rows}
    texts = collection.texts(dict.fromkeys(row.docno for rows in top.values() for row in rows))
    result = Reranked()
    for number, qids in enumerate(_groups(top, getattr(ranker, "pairs_at_a_time", PAIRS_A_SHARD))):
        rows = [row for qid in qids for row in top[qid]]
        shard = shards / f"{number:05d}.json" if shards else None
        scores, cut = _scored(
            ranker, [(collection.queries[row.qid], texts[row.docno]) for row in rows], shard, progress
        )
        result.pairs += len(rows)
        result.cut += cut
        for qid in qids:
            mine = [(row, scores.pop(0)) for row in top[qid]]
            result.run[qid] = _sorted(ranker.name, mine)
    return result


def forget_shards(shards: Path) -> None:
    """Deletes the shards of work that is done."""
    shutil.rmtree(shards, ignore_errors=True)


def _groups(top: Run, pairs: int) -> Iterator[list[str]]:
    """Queries in their order, in groups of about so many pairs."""
    group: list[str] = []
    size = 0
    for qid, rows in top.items():
        group.append(qid)
        size += len(rows)
        if size >= pairs:
            yield group
            group, size = [], 0
    if group:
        yield group


def _scored(
    ranker: Ranker, pairs: list[tuple[str, str]], shard: Path | None, progress: Progress | None
) -> tuple[list[float], int]:
    """The pairs' scores, from the shard if it is there, else scored and kept in it."""
    if shard and shard.exists():
        kept = json.loads(shard.read_text(encoding="utf-8"))
        if progress:
            progress(len(pairs))
        return kept["scores"], kept["cut"]
    values, cut = ranker.scores(pairs, progress)
    scores = [float(value) for value in values]
    if shard:
        write_text(shard, json.dumps({"scores": scores, "cut": cut}))
    return scores, cut


def _sorted(tag: str, scored: list[tuple[Retrieved, float]]) -> list[Retrieved]:
    best = sorted(scored, key=lambda pair: -pair[1])  # stable: ties keep the first stage's order
    return [Retrieved(row.qid, row.docno, rank, score, tag) for rank, (row, score) in enumerate(best, start=1)]
