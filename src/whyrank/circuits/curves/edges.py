"""The curve over edges: by integrated gradients, and at random."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from whyrank.axioms.pair import MinimalPair
from whyrank.circuits.curves.edge_attribution import edge_order, edge_strengths
from whyrank.circuits.curves.edge_graph import EdgeGraph
from whyrank.circuits.curves.edge_run import edge_scores
from whyrank.circuits.curves.kept import Kept
from whyrank.circuits.curves.results import ATTRIBUTION, BASELINE, EDGES, RANDOM, SizeCurve, SizePoint
from whyrank.core.kept import content_key, keep_json, kept_json
from whyrank.core.names import plain_name
from whyrank.core.progress import OpenProgress, no_progress
from whyrank.interventions.opened import OpenedPair
from whyrank.interventions.statistics import clusters
from whyrank.rankers.neural import NeuralRanker

#: Numbers of edges measured, before all.
SIZES = (0, 10, 30, 100, 300, 1000, 3000, 10000)
#: The edges named in the result.
NAMED = 100


def ranked_edges(
    ranker: NeuralRanker,
    sets: Mapping[str, Sequence[MinimalPair]],
    graph: EdgeGraph,
    *,
    shards: Path | None = None,
    progress: OpenProgress = no_progress,
) -> np.ndarray:
    """Places of edges in the flattened matrix of the graph, the strongest first, over all sets of pairs."""
    strengths = [
        edge_strengths(ranker, some, graph, shards=shards and shards / plain_name(name), progress=progress)
        for name, some in sets.items()
    ]
    return edge_order(strengths, graph)


def edge_curves(
    ranker: NeuralRanker,
    pairs: Sequence[MinimalPair],
    order: np.ndarray,
    graph: EdgeGraph,
    *,
    sizes: Sequence[int] = SIZES,
    seed: int = 0,
    shards: Path | None = None,
    progress: OpenProgress = no_progress,
) -> list[SizeCurve]:
    """What the first edges of the order keep, and as many of one random order; all others hold the baseline."""
    drawn = order.copy()
    np.random.default_rng(seed).shuffle(drawn)
    sizes = [*(size for size in sizes if size < graph.count), graph.count]
    orders = {ATTRIBUTION: order, RANDOM: drawn}
    asked = {(name, size): graph.first(edges, size) for name, edges in orders.items() for size in sizes if size}
    asked[RANDOM, 0] = asked[ATTRIBUTION, 0] = graph.none()
    found = _kept(ranker, pairs, graph, asked, seed, shards, progress)
    return [
        SizeCurve(EDGES, name, BASELINE, tuple(SizePoint(size, found.share((name, size))) for size in sizes))
        for name in orders
    ]


def _kept(
    ranker: NeuralRanker,
    pairs: Sequence[MinimalPair],
    graph: EdgeGraph,
    asked: Mapping[tuple[str, int], np.ndarray],
    seed: int,
    shards: Path | None,
    progress: OpenProgress,
) -> Kept:
    """What is left of the gap under each set of edges; each pair's scores are kept for the case of a kill."""
    import pandas as pd

    fingerprint = ranker.fingerprint() if shards else ""
    content = [[str(name), edges.nonzero()[0].tolist()] for name, edges in _flat(asked)]
    rows: list[list[float]] = []
    with progress(f"{len(asked)} sets of edges alone", len(pairs)) as advance:
        for number, pair in enumerate(pairs):
            path = shards / f"{number:05d}.scores" if shards else None
            key = content_key("edge scores", fingerprint, pair.to_json(), content) if path else ""
            scores = kept_json(path, key, list[float]) if path else None
            if scores is None:
                opened = OpenedPair.of(ranker, pair)
                scores = [opened.baseline, opened.perturbed, *edge_scores(opened, graph, list(asked.values()))]
                opened.check_finite("under a set of edges", scores)
                if path:
                    keep_json(path, key, scores)
            rows.append(scores)
            advance(1)
    base, perturbed, *patched = np.array(rows, dtype=float).T
    names = pd.DataFrame({"qid": [one.qid for one in pairs], "pair": [one.id for one in pairs]})
    query, _ = pd.factorize(clusters(names))
    left: dict[object, np.ndarray] = {key: one - base for key, one in zip(asked, patched, strict=True)}
    return Kept(perturbed - base, np.abs(perturbed) + np.abs(base), query, left, seed)


def _flat(asked: Mapping[tuple[str, int], np.ndarray]) -> list[tuple[tuple[str, int], np.ndarray]]:
    return [(name, edges.ravel()) for name, edges in asked.items()]
