"""The documents of the study: each ranker's own top 100."""

from __future__ import annotations

import random
from pathlib import Path

from whyrank.collections.bm25 import first_stage
from whyrank.collections.collection import Collection
from whyrank.collections.records import Retrieved, Run
from whyrank.rankers.cross_encoder import CrossEncoder
from whyrank.rankers.neural import NeuralRanker
from whyrank.rankers.ranker import Progress
from whyrank.rankers.rerank import rerank

TOP = 100


def own_top(
    ranker: NeuralRanker,
    collection: Collection,
    queries: int,
    *,
    k: int = TOP,
    seed: int = 0,
    shards: Path | None = None,
    progress: Progress | None = None,
) -> tuple[Run, str]:
    """The best k documents of so many queries by the ranker itself, and what they were chosen from: the whole
    collection where texts are encoded apart; BM25's top k for a cross-encoder, which reads every pair anew."""
    qids = sorted(collection.queries)
    qids = random.Random(f"{seed} queries").sample(qids, min(queries, len(qids)))
    if isinstance(ranker, CrossEncoder):
        stage, origin = first_stage(collection, k), f"BM25's top {k}"
        first = {qid: stage[qid] for qid in qids if stage[qid]}
    else:
        docnos = [docno for docno, _ in collection.documents()]
        first = {qid: [Retrieved(qid, docno, i + 1, 0.0, "all") for i, docno in enumerate(docnos)] for qid in qids}
        origin = f"all {len(docnos)} documents"
    deepest = max(map(len, first.values()))
    found = rerank(ranker, collection, first, k=deepest, shards=shards, progress=progress).run
    return {qid: rows[:k] for qid, rows in found.items()}, origin
