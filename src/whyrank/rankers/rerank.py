"""Re-ranking a collection's first stage."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from whyrank.collections.collection import Collection
from whyrank.collections.records import Retrieved, Run
from whyrank.collections.trec import check_identifiers
from whyrank.core.errors import UserError, located
from whyrank.core.names import plain_name
from whyrank.core.progress import Progress
from whyrank.rankers.ranker import Ranker
from whyrank.rankers.shards import score_in_shards
from whyrank.text.markup import markup_note


@dataclass(frozen=True)
class Reranked:
    """The new run, the pairs scored, how many of them were cut to the model's length, and what the texts hold that
    the ranker was not made for."""

    run: Run
    pairs: int
    cut: int
    markup: str | None = None


def rerank(
    ranker: Ranker,
    collection: Collection,
    first: Run,
    *,
    k: int = 100,
    shards: Path | None = None,
    progress: Progress | None = None,
) -> Reranked:
    """Scores the first k documents of each query again and sorts them by that (ties: the first stage's order)."""
    check_run(collection, first)
    rows = [row for found in first.values() for row in found[:k]]
    if not rows:
        raise UserError("the first stage found nothing to re-rank", where=collection.name)
    with located(collection.name):
        check_identifiers(rows)
    texts = collection.texts(dict.fromkeys(row.docno for row in rows))
    pairs = [(collection.queries[row.qid], texts[row.docno]) for row in rows]
    scores, cut = score_in_shards(ranker, pairs, shards, progress)
    scored: dict[str, list[tuple[Retrieved, float]]] = {}
    for row, score in zip(rows, scores.tolist(), strict=True):
        scored.setdefault(row.qid, []).append((row, score))
    tag = safe_name(ranker.name)
    return Reranked(
        {qid: _sorted(tag, mine) for qid, mine in scored.items()}, len(rows), cut, markup_note(texts.values())
    )


def check_run(collection: Collection, run: Run) -> None:
    """Raises when a run has queries that the collection lacks."""
    unknown = [qid for qid in run if qid not in collection.queries]
    if unknown:
        raise UserError(
            f"the run has {len(unknown)} queries that the collection lacks, such as {unknown[0]!r}",
            where=collection.name,
            todo="give the run that belongs to this collection",
        )


def safe_name(ranker: str) -> str:
    """A ranker's name as a tag of a run or a part of a path: its last part, plain and without blanks."""
    return plain_name("_".join(Path(ranker).name.split()) or "ranker")


def _sorted(tag: str, scored: list[tuple[Retrieved, float]]) -> list[Retrieved]:
    best = sorted(scored, key=lambda pair: -pair[1])  # stable: ties keep the first stage's order
    return [Retrieved(row.qid, row.docno, rank, score, tag) for rank, (row, score) in enumerate(best, start=1)]
