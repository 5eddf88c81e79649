"""Figures 7 and 8: where a query, its relevant and its other documents stand in a trained model, by t-SNE."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

import numpy as np
import torch

from whyrank.core.errors import UserError
from whyrank.core.progress import Progress
from whyrank.learning.models.dgre import DGRe
from whyrank.papers.disentangled.results import Plane, PlanePoint
from whyrank.rankers.ranker import Pair

#: scikit-learn's own default, where there are points enough for it.
PERPLEXITY = 30.0
#: Fewer points have no picture.
FEWEST = 5
BATCH = 16
KINDS = ("query", "relevant", "not relevant")


def check_scikit_learn() -> None:
    """Raises where t-SNE cannot be had."""
    try:
        import_module("sklearn.manifold")
    except ImportError as error:
        raise UserError(
            "t-SNE needs scikit-learn", todo="pip install scikit-learn, or leave the figures out of only"
        ) from error


def embedded(
    network: DGRe, pairs: Sequence[Pair], relevant: Sequence[bool], seed: int = 0, progress: Progress | None = None
) -> Plane:
    """The last layer's query and document vectors of a query's candidates: one point each in the plane, and how
    near the centroids are, by their cosine, where the vectors are: t-SNE keeps neighbours, not distances."""
    queries, documents = vectors_of(network, pairs, progress)
    kinds = ["query"] * len(pairs) + [KINDS[1] if one else KINDS[2] for one in relevant]
    every = np.concatenate([queries, documents])
    shown = len(every) >= FEWEST and np.ptp(every, axis=0).any()
    points = plane(every, seed).tolist() if shown else []
    return Plane(
        tuple(PlanePoint(kind, x, y) for kind, (x, y) in zip(kinds, points, strict=bool(shown))),
        centroid_cosines(every, kinds),
        relevant=sum(relevant),
        others=len(relevant) - sum(relevant),
        perplexity=perplexity(len(every)),
    )


@torch.no_grad()
def vectors_of(
    network: DGRe, pairs: Sequence[Pair], progress: Progress | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The vectors [n, d] of the query, as it was read beside each document, and of the documents."""
    found = []
    for start in range(0, len(pairs), BATCH):
        some = pairs[start : start + BATCH]
        found.append(network.vectors(network.read(some)))
        if progress:
            progress(len(some))
    query, document = (torch.cat([one[name] for one in found]).cpu().numpy() for name in ("query", "document"))
    return query, document


def perplexity(points: int) -> float:
    """At most a third of the other points, as many neighbours as a point can have."""
    return min(PERPLEXITY, (points - 1) / 3)


def plane(vectors: np.ndarray, seed: int = 0) -> np.ndarray:
    """The points [n, 2], the same for the same vectors and seed."""
    made = import_module("sklearn.manifold").TSNE(
        n_components=2, perplexity=perplexity(len(vectors)), init="pca", random_state=seed
    )
    return made.fit_transform(vectors.astype(np.float32))


def centroid_cosines(vectors: np.ndarray, kinds: Sequence[str]) -> dict[str, float | None]:
    """Of the centroids, between each two kinds."""
    which = np.array(kinds)
    centres = {kind: vectors[which == kind].mean(axis=0) for kind in KINDS if (which == kind).any()}
    pairs = [(a, b) for i, a in enumerate(KINDS) for b in KINDS[i + 1 :]]
    return {
        f"{a}, {b}": _cosine(centres[a], centres[b]) if a in centres and b in centres else None for a, b in pairs
    }


def _cosine(a: np.ndarray, b: np.ndarray) -> float | None:
    size = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(a @ b) / size if size else None
