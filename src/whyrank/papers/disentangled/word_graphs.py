"""Figure 6: the word graph of one pair under each mask."""

from __future__ import annotations

from typing import Any

import torch

from whyrank.learning.models.graph_network import GraphNetwork
from whyrank.papers.disentangled.relations import read
from whyrank.rankers.ranker import Pair

MASKS = ("none", "heuristic", "adaptive")
#: Pieces of a document that are shown.
SHOWN = 40


def word_graphs(network: GraphNetwork, pair: Pair, layer: int = -1, shown: int = SHOWN) -> dict[str, Any] | None:
    """The relations A of the query's word pieces and so many of the document's, all with all, at one refined layer
    under each mask; and where the same word stands on both sides. None where one side has no word."""
    reading = read(network, network.backbone.encoder.word_embeddings, "", pair)
    if reading is None:
        return None
    batch = network.read([pair])
    start = _window(reading.same, shown)
    places = [*reading.query, *reading.document[start : start + shown]]
    layer = range(network.refined_layers)[layer]
    with torch.no_grad():
        state = network.backbone(batch.inputs)[-network.refined_layers :][layer]
        scene = network.scene(batch)
        graphs = {
            mask: network.graphs(layer, state, scene.sides, scene.packing, mask).matrix()[0][places][:, places]
            for mask in MASKS
        }
    name = network.backbone.pieces.tokenizer.id_to_token
    ids = batch.inputs.ids[0].tolist()
    return {
        "layer": layer, "layers": network.refined_layers, "query": len(reading.query),
        "pieces": [str(name(ids[place])) for place in places],
        "exact": _exact(reading.same[:, start : start + shown]),
        "graphs": {mask: graph.tolist() for mask, graph in graphs.items()},
        "cut": len(reading.document) > shown,
    }  # fmt: skip


def _window(same: torch.Tensor, shown: int) -> int:
    """Where the part of the document [m, n] begins that has most words of the query; of equals the first."""
    hits = same.any(dim=0).int().tolist()
    starts = range(max(1, len(hits) - shown + 1))
    return max(starts, key=lambda start: (sum(hits[start : start + shown]), -start))


def _exact(same: torch.Tensor) -> list[list[int]]:
    """The cells, query word and document word, that hold the same word."""
    return [[int(i), len(same) + int(j)] for i, j in same.nonzero()]
