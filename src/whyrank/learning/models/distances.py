"""The triangle of distances between a query, a better and a worse document: Eq. 18 to 20.

    distance of two vectors with the same label      1 - cos
                         with different labels       1 + cos
    point    query words to document words of the transformer's last layer, mean-pooled: better, and worse, added
    pair     better to worse document: half the sum over [CLS] of the last layer and over the query-related part
    triangle point + pair

A query and its better document have the same label, all other two do not. As it is printed the distance does not
tell the labels apart, and then cannot separate the classes; `literal` takes 1 - cos for every two vectors.

How words are pooled the paper does not say. Of `means`, the distance is that of two mean vectors; of `words`, the
mean distance of every word of the one from every word of the other. The mean of their cosines is the product of
the means of the words' unit vectors, which is what parts then hold.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor
from torch.nn.functional import cosine_similarity

DISTANCES = ("none", "point", "pair", "triangle")
#: What is compared, and the part that then stands for the query-related words.
RELATED = {"means": "related", "words": "related_words"}
COMPARED = tuple(RELATED)


def distance_loss(parts: Mapping[str, Tensor], kind: str, literal: bool = False, of: str = "means") -> Tensor:
    """The mean over the pairs of a batch, whose first half are the better documents."""
    point = kind in ("point", "triangle")
    pair = kind in ("pair", "triangle")
    chosen = [point_distance(parts, literal, of)] * point + [pair_distance(parts, literal, of)] * pair
    return torch.stack(chosen).sum()


def point_distance(parts: Mapping[str, Tensor], literal: bool = False, of: str = "means") -> Tensor:
    """D(q, d+) + D(q, d-), each query as its own sequence has it."""
    asked, worse_asked = parts["query_words"].chunk(2)
    better, worse = parts["document_words"].chunk(2)
    return distance(asked, better, True, of) + distance(worse_asked, worse, literal, of)


def pair_distance(parts: Mapping[str, Tensor], literal: bool = False, of: str = "means") -> Tensor:
    """D(d+, d-): the mean over [CLS] and the query-related part, or [CLS] alone where nothing was decomposed."""
    found = []
    for name, compared in (("cls", "means"), (RELATED[of], of)):
        if name in parts:
            better, worse = parts[name].chunk(2)
            found.append(distance(better, worse, literal, compared))
    return torch.stack(found).mean()


def distance(left: Tensor, right: Tensor, same: bool, of: str = "means") -> Tensor:
    """The mean distance of the rows of two [n, d]: of two means or, from means of unit vectors, of all words."""
    cosines = cosine_similarity(left, right, dim=1) if of == "means" else torch.linalg.vecdot(left, right)
    return (1 - cosines).mean() if same else (1 + cosines).mean()
