"""How much of the attention between query words and document words is on spurious relations.

For each reading: the attention of the query's words to the document's and back, summed over heads, and the part of
this mass that is on spurious relations. Were attention uniform, the part would be the share of relations that are
spurious, which is reported, too. The same is computed for DGRe's own word graph under each mask.

Vanilla BERT reads the [CLS] of the last layer only: what words attend to in that layer changes no score and is not
learned. So the layers below the top are compared, and the top layer is reported by itself, untested.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from whyrank.circuits.reading import read_layers
from whyrank.collections.records import Run
from whyrank.core.errors import UserError
from whyrank.core.progress import OpenProgress, Progress
from whyrank.encoders.encoder import Encoder
from whyrank.evaluation.estimate import Estimate
from whyrank.learning.material import Material
from whyrank.learning.models.graph_network import GraphNetwork
from whyrank.learning.models.network import Ingredients, TransformerNetwork
from whyrank.learning.plan import backbone_checkpoint
from whyrank.learning.tables import Difference
from whyrank.papers.disentangled.graph_mass import compare_graphs, graph_shares
from whyrank.papers.disentangled.kept_models import BEFORE, BERT, DGRE, KeptModels
from whyrank.papers.disentangled.paired import corrected, difference, means
from whyrank.papers.disentangled.relations import UNRELATED, Reading, both_ways, near_threshold, read, share_of
from whyrank.papers.disentangled.results import AttentionCompared

#: Equal attention to all words.
UNIFORM = "uniform"
#: What is compared.
SHARE = "share on spurious relations"


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
    progress: OpenProgress,
    seed: int = 0,
) -> AttentionCompared:
    """The shares before training, after vanilla and after DGRe, by layer and overall; and of DGRe's graphs."""
    start = Ingredients(backbone_checkpoint(backbone)).backbone().eval()
    groups = {title: [one.network for one in models.opened(title)] for title in (BERT, DGRE)}
    reader = groups[BERT][0]
    embeddings = start.encoder.word_embeddings.detach()
    readings = chosen_readings(material, run, reader, embeddings, count, seed)
    if len({one.qid for one in readings}) < 2:
        raise UserError("readings of fewer than two queries", todo="nothing is unrelated: test on more queries")
    if start.encoder.layers < 2:
        raise UserError("the backbone has one layer", todo="BERT learns no attention of words in its top layer")
    threshold = near_threshold(readings)
    encoders = {BEFORE: [start.encoder], **{t: [n.backbone.encoder for n in some] for t, some in groups.items()}}
    spurious = [one.spurious(threshold) for one in readings]
    shares = _shares_by_group(encoders, reader, readings, spurious, progress)
    graphs = [graph_shares(one, readings, threshold) for one in groups[DGRE] if isinstance(one, GraphNetwork)]
    clusters, relevant = [one.qid for one in readings], [one.relevant for one in readings]
    layers = summarise_layers(shares, [float(one.float().mean()) for one in spurious], clusters, seed)
    return AttentionCompared(
        threshold, UNRELATED, len(readings), len(set(clusters)), _kinds(readings, threshold),
        {title: len(some) for title, some in encoders.items()}, layers.means, layers.top, layers.layers,
        layers.differences, compare_graphs(graphs, clusters, relevant, seed),
    )  # fmt: skip


def _shares_by_group(
    encoders: Mapping[str, Sequence[Encoder]],
    reader: TransformerNetwork,
    readings: Sequence[Reading],
    spurious: Sequence[Tensor],
    progress: OpenProgress,
) -> dict[str, np.ndarray]:
    """[readings, layers + 1] of each group, the mean over its seeds."""
    with progress("reading attention", len(readings) * sum(map(len, encoders.values()))) as advance:
        return {
            title: np.mean([_shares(encoder, reader, readings, spurious, advance) for encoder in some], axis=0)
            for title, some in encoders.items()
        }


class LayerShares(NamedTuple):
    """Means below the top, of the top layer, of each layer; and differences below the top."""

    means: dict[str, Estimate]
    top: dict[str, Estimate]
    layers: tuple[dict[str, Estimate], ...]
    differences: tuple[Difference, ...]


def summarise_layers(
    shares: Mapping[str, np.ndarray], uniform: Sequence[float], clusters: Sequence[str], seed: int = 0
) -> LayerShares:
    """From shares [readings, layers + 1], the last column of all layers below the top; differences are
    Holm-corrected."""
    whole = {UNIFORM: list(uniform), **{title: one[:, -1].tolist() for title, one in shares.items()}}
    layers = next(iter(shares.values())).shape[1] - 1
    by_layer = [{title: one[:, layer].tolist() for title, one in shares.items()} for layer in range(layers)]
    pairs = [(BERT, BEFORE), (DGRE, BEFORE), (DGRE, BERT)]
    found = corrected([difference(whole[a], whole[b], clusters, seed) for a, b in pairs])
    return LayerShares(
        means(whole, clusters, seed),
        means(by_layer[-1], clusters, seed),
        tuple(means(one, clusters) for one in by_layer),
        tuple(Difference("attention", a, b, SHARE, one) for (a, b), one in zip(pairs, found, strict=True)),
    )


def _shares(
    encoder: Encoder,
    reader: TransformerNetwork,
    readings: Sequence[Reading],
    spurious: Sequence[Tensor],
    advance: Progress,
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


def _kinds(readings: Sequence[Reading], threshold: float) -> dict[str, float]:
    """The share of each kind of relations."""
    same = torch.cat([one.same.flatten() for one in readings]).float().mean()
    spurious = torch.cat([one.spurious(threshold).flatten() for one in readings]).float().mean()
    return {"same": float(same), "near": 1 - float(same) - float(spurious), "spurious": float(spurious)}
