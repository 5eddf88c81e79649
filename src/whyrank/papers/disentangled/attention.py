"""How much of what query words and document words read of each other goes to spurious relations.

Of each reading: the attention of the query's words to the document's and back, summed over heads, and the part of
this mass that is on spurious relations. Were attention uniform, the part would be the share of relations that are
spurious, which stands beside it. The same is asked of DGRe's own word graph under each mask.

Vanilla BERT reads the [CLS] of the last layer only: what words attend to in that layer changes no score of it and
is not learned. So the layers below the top are what is compared, and the top layer stands by itself, untested.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from whyrank.circuits.reading import read_layers
from whyrank.collections.records import Run
from whyrank.core.errors import UserError
from whyrank.core.progress import OpenProgress
from whyrank.encoders.encoder import Encoder
from whyrank.learning.material import Material
from whyrank.learning.models.graph_network import GraphNetwork
from whyrank.learning.models.network import Ingredients, TransformerNetwork
from whyrank.learning.plan import backbone_checkpoint
from whyrank.papers.disentangled.graph_mass import graph_shares, graphs_told
from whyrank.papers.disentangled.kept_models import BEFORE, BERT, DGRE, KeptModels
from whyrank.papers.disentangled.paired import difference, means, with_holm
from whyrank.papers.disentangled.relations import UNRELATED, Reading, both_ways, near_threshold, read, share_of

#: Attention that goes to all words alike.
UNIFORM = "uniform"


def chosen_readings(
    material: Material, run: Run, network: TransformerNetwork, embeddings: Tensor, count: int, seed: int = 0
) -> list[Reading]:
    """Candidates of the run's queries, the queries by turns, drawn with the seed."""
    draw = random.Random(f"{seed} readings")
    queues = [draw.sample(rows, len(rows)) for rows in run.values() if rows]
    rows = [queue[i] for i in range(max(map(len, queues), default=0)) for queue in queues if i < len(queue)]
    found = []
    for row in rows[:count]:
        one = read(network, embeddings, row.qid, material.pair(row.qid, row.docno))
        if one is not None:
            found.append(replace(one, relevant=material.grade(row.qid, row.docno) > 0))
    return found


def spurious_attention(
    models: KeptModels,
    backbone: str,
    material: Material,
    run: Run,
    count: int,
    *,
    watch: OpenProgress,
    seed: int = 0,
) -> dict[str, Any]:
    """The shares before training, after vanilla and after DGRe, by layer and in all; and of DGRe's graphs."""
    start = Ingredients(backbone_checkpoint(backbone)).backbone().eval()
    groups = {title: [one.network for one in models.opened(title)] for title in (BERT, DGRE)}
    embeddings = start.encoder.word_embeddings.detach()
    readings = chosen_readings(material, run, groups[BERT][0], embeddings, count, seed)
    if len({one.qid for one in readings}) < 2:
        raise UserError("readings of fewer than two queries", todo="nothing is unrelated: test on more queries")
    if start.encoder.layers < 2:
        raise UserError("the backbone has one layer", todo="BERT learns no attention of words in its top layer")
    threshold = near_threshold(readings)
    spurious = [one.spurious(threshold) for one in readings]
    encoders = {BEFORE: [start.encoder], **{t: [n.backbone.encoder for n in some] for t, some in groups.items()}}
    reader = groups[BERT][0]
    with watch("reading attention", len(readings) * sum(map(len, encoders.values()))) as advance:
        shares = {
            title: _mean_of_seeds([_shares(encoder, reader, readings, spurious, advance) for encoder in some])
            for title, some in encoders.items()
        }
    graphs = [graph_shares(one, readings, threshold) for one in groups[DGRE] if isinstance(one, GraphNetwork)]
    relevant = [one.relevant for one in readings]
    clusters = [one.qid for one in readings]
    return {
        "threshold": threshold, "unrelated": UNRELATED, "readings": len(readings), "queries": len(set(clusters)),
        "kinds": _kinds(readings, threshold), "seeds": {title: len(some) for title, some in encoders.items()},
        **summed_up(shares, [float(one.float().mean()) for one in spurious], clusters, seed),
        "graphs": graphs_told(graphs, clusters, relevant, seed),
    }  # fmt: skip


def summed_up(
    shares: Mapping[str, np.ndarray], uniform: Sequence[float], clusters: Sequence[str], seed: int = 0
) -> dict[str, Any]:
    """From shares [readings, layers + 1], the last column of all layers below the top: means and differences,
    Holm-corrected; and the means of the top layer and of each."""
    whole = {UNIFORM: list(uniform), **{title: one[:, -1].tolist() for title, one in shares.items()}}
    layers = next(iter(shares.values())).shape[1] - 1
    pairs = [(BERT, BEFORE), (DGRE, BEFORE), (DGRE, BERT)]
    return {
        "means": means(whole, clusters, seed),
        "top": means({title: one[:, layers - 1].tolist() for title, one in shares.items()}, clusters, seed),
        "layers": [
            {"layer": layer, **means({title: one[:, layer].tolist() for title, one in shares.items()}, clusters)}
            for layer in range(layers)
        ],
        "differences": with_holm(
            [{"of": a, "against": b, **difference(whole[a], whole[b], clusters, seed)} for a, b in pairs]
        ),
    }  # fmt: skip


def _shares(
    encoder: Encoder,
    reader: TransformerNetwork,
    readings: Sequence[Reading],
    spurious: Sequence[Tensor],
    advance: Any,
) -> np.ndarray:
    """[readings, layers + 1] of one model: each layer's share, then that of all below the top."""
    found = []
    for reading, mask in zip(readings, spurious, strict=True):
        with torch.no_grad():
            inputs = reader.read([reading.pair]).inputs
            layers = [both_ways(pattern[0], reading) for _, pattern in read_layers(encoder, inputs)]
        found.append([*(share_of(one, mask) for one in layers), share_of(torch.stack(layers[:-1]), mask)])
        advance(1)
    return np.array(found)


def _mean_of_seeds(seeds: Sequence[np.ndarray]) -> np.ndarray:
    return np.mean(np.stack(list(seeds)), axis=0)


def _kinds(readings: Sequence[Reading], threshold: float) -> dict[str, float]:
    """What part of all relations is of which kind."""
    same = torch.cat([one.same.flatten() for one in readings]).float().mean()
    spurious = torch.cat([one.spurious(threshold).flatten() for one in readings]).float().mean()
    return {"same": float(same), "near": 1 - float(same) - float(spurious), "spurious": float(spurious)}
