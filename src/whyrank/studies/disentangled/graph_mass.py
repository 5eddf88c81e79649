"""How much of DGRe's own word graph is on spurious relations, under each mask."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

import numpy as np
import torch
from torch import Tensor

from whyrank.learning.models.graph_network import GraphNetwork
from whyrank.studies.disentangled.paired import difference, means, with_holm
from whyrank.studies.disentangled.relations import Reading, both_ways, share_of
from whyrank.studies.disentangled.word_graphs import MASKS


def graph_shares(
    network: GraphNetwork, readings: Sequence[Reading], spurious: Sequence[Tensor]
) -> dict[str, list[float]]:
    """Of DGRe's own graphs of all refined layers, under each mask."""
    found: dict[str, list[float]] = {mask: [] for mask in MASKS}
    for reading, which in zip(readings, spurious, strict=True):
        batch = network.read([reading.pair])
        with torch.no_grad():
            states, scene = network.backbone(batch.inputs)[-network.refined_layers :], network.scene(batch)
            for mask, shares in found.items():
                graphs = [
                    network.graphs(layer, state, scene.sides, scene.packing, mask).matrix()[0]
                    for layer, state in enumerate(states)
                ]
                shares.append(share_of(both_ways(torch.stack(graphs), reading), which))
    return found


def graphs_compared(
    seeds: Sequence[Mapping[str, list[float]]], clusters: Sequence[str], seed: int
) -> dict[str, Any]:
    """Means by mask over the readings that have mass under all masks, and each against no mask."""
    table = {mask: [fmean(one[mask][i] for one in seeds) for i in range(len(clusters))] for mask in MASKS}
    whole = [i for i in range(len(clusters)) if all(np.isfinite(table[mask][i]) for mask in MASKS)]
    if not whole:
        return {"means": {}, "differences": [], "readings": 0}
    kept = {mask: [values[i] for i in whole] for mask, values in table.items()}
    some = [clusters[i] for i in whole]
    rows = [{"of": m, "against": MASKS[0], **difference(kept[m], kept[MASKS[0]], some, seed)} for m in MASKS[1:]]
    return {"means": means(kept, some, seed), "differences": with_holm(rows), "readings": len(whole)}
