"""How much of what words hear in DGRe's own word graph is on spurious relations, under each mask.

A row of a graph is what one word hears. Of each row that hears the other side at all: the part of this that is on
spurious relations; the mean over rows, so that a word that a mask leaves with much says no more than others. A
mask also moves what is heard from a word's own side to the other; how much crosses is told beside it. The same is
asked of content words alone, and of relevant candidates alone.

Within what a word hears from the other side, no mask and the heuristic one are the same: a softmax of the same
relations. So only the adaptive mask is tested against none there; of what crosses, both are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any

import numpy as np
import torch
from torch import Tensor

from whyrank.learning.models.graph_network import GraphNetwork
from whyrank.papers.disentangled.paired import difference, means, with_holm
from whyrank.papers.disentangled.relations import Reading
from whyrank.papers.disentangled.word_graphs import MASKS
from whyrank.text.words import ENGLISH_STOPWORDS

#: What is looked at, and how it is told.
EVERY, RELEVANT, CONTENT = "all words", "relevant candidates", "content words"
#: Masks whose shares on spurious relations are not those of no mask by construction.
DIFFERENT = ("adaptive",)
#: Mask -> a value a reading; NaN where there is none.
Shares = dict[str, list[float]]


def graph_shares(
    network: GraphNetwork, readings: Sequence[Reading], threshold: float
) -> tuple[dict[str, Shares], Shares]:
    """Under each mask, the mean row's share on spurious relations, of all words and of content words; and the
    share of what words hear that comes from the other side. All refined layers together."""
    shares: dict[str, Shares] = {view: {mask: [] for mask in MASKS} for view in (EVERY, CONTENT)}
    crossing: Shares = {mask: [] for mask in MASKS}
    for reading in readings:
        views = {EVERY: reading, CONTENT: content_of(network, reading)}
        for mask, graphs in _graphs(network, reading).items():
            for view, one in views.items():
                shares[view][mask].append(row_share(graphs, one, one.spurious(threshold)) if one else np.nan)
            crossing[mask].append(crossing_share(graphs, reading))
    return shares, crossing


def row_share(graphs: Tensor, reading: Reading, spurious: Tensor) -> float:
    """The mean over rows of graphs [..., S, S] that hear the other side; NaN where none does."""
    there = graphs[..., reading.query, :][..., reading.document]
    back = graphs[..., reading.document, :][..., reading.query]
    found = []
    for block, wrong in ((there, spurious), (back, spurious.T)):
        heard = block.sum(dim=-1)
        found.append(((block * wrong).sum(dim=-1) / heard)[heard > 0])
    every = torch.cat(found)
    return float(every.mean()) if len(every) else float("nan")


def crossing_share(graphs: Tensor, reading: Reading) -> float:
    """The part of what the words of both sides hear that comes from the other side's words."""
    there = graphs[..., reading.query, :][..., reading.document].sum()
    back = graphs[..., reading.document, :][..., reading.query].sum()
    heard = graphs[..., [*reading.query, *reading.document], :].sum()
    return float((there + back) / heard) if heard > 0 else float("nan")


def content_of(network: GraphNetwork, reading: Reading) -> Reading | None:
    """The reading without stop words; None where one side has no other."""
    name = network.backbone.pieces.tokenizer.id_to_token

    def is_content(place: int) -> bool:
        return "".join(str(name(i)) for i in reading.words[place]).lstrip("Ġ▁").lower() not in ENGLISH_STOPWORDS

    query, document = (list(filter(is_content, side)) for side in (reading.query, reading.document))
    if not query or not document:
        return None
    rows = [i for i, place in enumerate([*reading.query, *reading.document]) if is_content(place)]
    return replace(reading, query=query, document=document, vectors=reading.vectors[rows])


def _graphs(network: GraphNetwork, reading: Reading) -> dict[str, Tensor]:
    """[layers, S, S] under each mask."""
    batch = network.read([reading.pair])
    with torch.no_grad():
        states, scene = network.backbone(batch.inputs)[-network.refined_layers :], network.scene(batch)
        return {
            mask: torch.stack([
                network.graphs(layer, state, scene.sides, scene.packing, mask).matrix()[0]
                for layer, state in enumerate(states)
            ])
            for mask in MASKS
        }  # fmt: skip


def graphs_told(
    seeds: Sequence[tuple[dict[str, Shares], Shares]], clusters: Sequence[str], relevant: Sequence[bool], seed: int
) -> dict[str, Any]:
    """Each view compared, and what crosses under each mask; Holm-corrected over all of these tests."""
    every = [one[0][EVERY] for one in seeds]
    some = [i for i, yes in enumerate(relevant) if yes]
    chosen = [{mask: [values[i] for i in some] for mask, values in one.items()} for one in every]
    views = {
        EVERY: graphs_compared(every, clusters, seed, DIFFERENT),
        RELEVANT: graphs_compared(chosen, [clusters[i] for i in some], seed, DIFFERENT),
        CONTENT: graphs_compared([one[0][CONTENT] for one in seeds], clusters, seed, DIFFERENT),
    }
    crossing = graphs_compared([one[1] for one in seeds], clusters, seed)
    parts = [*views.values(), crossing]
    corrected = iter(with_holm([row for part in parts for row in part["differences"]]))
    for part in parts:
        part["differences"] = [next(corrected) for _ in part["differences"]]
    return {"views": views, "crossing": crossing}


def graphs_compared(
    seeds: Sequence[Mapping[str, list[float]]],
    clusters: Sequence[str],
    seed: int,
    tested: Sequence[str] = MASKS[1:],
) -> dict[str, Any]:
    """Means by mask over the readings that have mass under all masks, and some of them against no mask."""
    table = {mask: [fmean(one[mask][i] for one in seeds) for i in range(len(clusters))] for mask in MASKS}
    whole = [i for i in range(len(clusters)) if all(np.isfinite(table[mask][i]) for mask in MASKS)]
    if not whole:
        return {"means": {}, "differences": [], "readings": 0}
    kept = {mask: [values[i] for i in whole] for mask, values in table.items()}
    some = [clusters[i] for i in whole]
    rows = [{"of": m, "against": MASKS[0], **difference(kept[m], kept[MASKS[0]], some, seed)} for m in tested]
    return {"means": means(kept, some, seed), "differences": rows, "readings": len(whole)}
