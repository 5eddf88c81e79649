"""The triangle of distances between a query, a better and a worse document: Eq. 18 to 20.

    distance of two vectors with the same label      1 - cos
                         with different labels       1 + cos
    point    query words to document words of the transformer's last layer, mean-pooled: better, and worse, added
    pair     better to worse document: half the sum over [CLS] of the last layer and over the query-related part
    triangle point + pair

A query and its better document have the same label, all other two do not. As it is printed the distance does not
tell the labels apart, and then cannot separate the classes; `literal` takes 1 - cos for every two vectors.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor
from torch.nn.functional import cosine_similarity

DISTANCES = ("none", "point", "pair", "triangle")


def distance_loss(parts: Mapping[str, Tensor], kind: str, literal: bool = False) -> Tensor:
    """The mean over the pairs of a batch, whose first half are the better documents."""
    point = kind in ("point", "triangle")
    pair = kind in ("pair", "triangle")
    chosen = [point_distance(parts, literal)] * point + [pair_distance(parts, literal)] * pair
    return torch.stack(chosen).sum()


def point_distance(parts: Mapping[str, Tensor], literal: bool = False) -> Tensor:
    """D(q, d+) + D(q, d-), each query as its own sequence has it."""
    asked, worse_asked = parts["query_words"].chunk(2)
    better, worse = parts["document_words"].chunk(2)
    return distance(asked, better, same=True) + distance(worse_asked, worse, same=literal)


def pair_distance(parts: Mapping[str, Tensor], literal: bool = False) -> Tensor:
    """D(d+, d-): the mean over [CLS] and the query-related part, or [CLS] alone where nothing was decomposed."""
    halves = [parts[name].chunk(2) for name in ("cls", "related") if name in parts]
    return torch.stack([distance(better, worse, same=literal) for better, worse in halves]).mean()


def distance(left: Tensor, right: Tensor, same: bool) -> Tensor:
    """The mean distance of the rows of two [n, d]."""
    cosines = cosine_similarity(left, right, dim=1)
    return (1 - cosines).mean() if same else (1 + cosines).mean()
