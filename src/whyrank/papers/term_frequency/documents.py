"""The documents of the study: each ranker's own top 100."""

from __future__ import annotations

import random
from pathlib import Path
from typing import NamedTuple

from whyrank.collections.bm25 import first_stage
from whyrank.collections.collection import Collection
from whyrank.collections.records import Retrieved, Run
from whyrank.core.progress import OpenProgress, Progress
from whyrank.rankers.cross_encoder import CrossEncoder
from whyrank.rankers.neural import NeuralRanker
from whyrank.rankers.rerank import rerank
from whyrank.rankers.shards import score_in_shards

TOP = 100


class OwnTop(NamedTuple):
    """The ranking, what it was chosen from, and which share of the pairs was cut to the length that is read."""

    run: Run
    origin: str
    cut: float


def own_top(
    ranker: NeuralRanker,
    collection: Collection,
    queries: int,
    *,
    pool: str = "all",
    k: int = TOP,
    seed: int = 0,
    shards: Path | None = None,
    progress: OpenProgress,
) -> OwnTop:
    """The best k documents of so many queries by the ranker itself. A cross-encoder, which reads every pair anew,
    chooses from BM25's top k of each query; where texts are encoded apart all documents of the pool are
    ranked."""
    qids = sorted(collection.queries)
    qids = random.Random(f"{seed} queries").sample(qids, min(queries, len(qids)))
    if isinstance(ranker, CrossEncoder):
        stage = first_stage(collection, k)
        first = {qid: stage[qid] for qid in qids if stage[qid]}
        with progress("own top 100", sum(map(len, first.values()))) as advance:
            found = rerank(ranker, collection, first, k=k, shards=shards, progress=advance)
        return OwnTop(found.run, f"BM25's top {k}", found.cut / found.pairs)
    docnos, origin = _pool(collection, qids, pool, k)
    with progress("own top 100", len(docnos) * len(qids)) as advance:
        run, cut = _best_of(ranker, collection, qids, docnos, k, shards, advance)
    return OwnTop(run, origin, cut)


def _pool(collection: Collection, qids: list[str], pool: str, k: int) -> tuple[list[str], str]:
    """The documents to choose from, and what to call them."""
    if pool != "candidates":
        docnos = [docno for docno, _ in collection.documents()]
        return docnos, f"all {len(docnos)} documents"
    stage = first_stage(collection, k)
    docnos = sorted({row.docno for qid in qids for row in stage.get(qid, [])})
    return docnos, f"the {len(docnos)} documents that BM25 finds for these queries"


def _best_of(
    ranker: NeuralRanker,
    collection: Collection,
    qids: list[str],
    docnos: list[str],
    k: int,
    shards: Path | None,
    progress: Progress,
) -> tuple[Run, float]:
    """Document by document, each against all queries: no document is encoded twice, however many there are."""
    texts = collection.texts(docnos)
    pairs = [(collection.queries[qid], texts[docno]) for docno in docnos for qid in qids]
    scores = score_in_shards(ranker, pairs, shards, progress)
    table = scores.values.reshape(len(docnos), len(qids))
    run = {}
    for column, qid in enumerate(qids):
        best = sorted(zip(docnos, table[:, column].tolist(), strict=True), key=lambda one: -one[1])[:k]
        run[qid] = [Retrieved(qid, docno, i, score, ranker.name) for i, (docno, score) in enumerate(best, start=1)]
    return run, scores.cut / len(pairs)
