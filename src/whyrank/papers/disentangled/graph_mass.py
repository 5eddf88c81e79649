"""How much of the mass of DGRe's own word graph is on spurious relations, under each mask.

A row of a graph is what one word receives from all others. Of each row with any mass from the other side: the part
of this that is on spurious relations; the mean over rows, so that a word whose row keeps much mass under a mask
counts no more than others. A mask also moves mass from a word's own side to the other; how much crosses is
reported, too. The same is computed for content words alone, and for relevant candidates alone.

Within what a word receives from the other side, no mask and the heuristic one are the same: a softmax of the same
relations. So only the adaptive mask is tested against none there; of what crosses, both are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

import numpy as np
import torch
from torch import Tensor

from whyrank.learning.models.graph_network import GraphNetwork
from whyrank.learning.tables import Difference
from whyrank.papers.disentangled.one_query import MASKS, graphs_of
from whyrank.papers.disentangled.paired import corrected, difference, means
from whyrank.papers.disentangled.relations import Reading
from whyrank.papers.disentangled.results import GraphsCompared, GraphShares
from whyrank.text.words import ENGLISH_STOPWORDS

#: Which rows are measured.
EVERY, RELEVANT, CONTENT = "all words", "relevant candidates", "content words"
#: Masks whose shares on spurious relations are not those of no mask by construction.
DIFFERENT = ("adaptive",)
#: Mask -> one value per reading; NaN where there is none.
Shares = dict[str, list[float]]


def graph_shares(
    network: GraphNetwork, readings: Sequence[Reading], threshold: float
) -> tuple[dict[str, Shares], Shares]:
    """Under each mask, the mean row's share on spurious relations, of all words and of content words; and the
    share of the mass that comes from the other side. All refined layers together."""
    shares: dict[str, Shares] = {view: {mask: [] for mask in MASKS} for view in (EVERY, CONTENT)}
    crossing: Shares = {mask: [] for mask in MASKS}
    for reading in readings:
        views = {EVERY: reading, CONTENT: content_of(network, reading)}
        for mask, graphs in graphs_of(network, reading.pair).items():
            for view, one in views.items():
                shares[view][mask].append(row_share(graphs, one, one.spurious(threshold)) if one else np.nan)
            crossing[mask].append(crossing_share(graphs, reading))
    return shares, crossing


def row_share(graphs: Tensor, reading: Reading, spurious: Tensor) -> float:
    """The mean over rows of graphs [..., S, S] with mass from the other side; NaN where none has."""
    there = graphs[..., reading.query, :][..., reading.document]
    back = graphs[..., reading.document, :][..., reading.query]
    found = []
    for block, wrong in ((there, spurious), (back, spurious.T)):
        received = block.sum(dim=-1)
        found.append(((block * wrong).sum(dim=-1) / received)[received > 0])
    every = torch.cat(found)
    return float(every.mean()) if len(every) else float("nan")


def crossing_share(graphs: Tensor, reading: Reading) -> float:
    """The part of the mass that the words of both sides receive that comes from the other side's words."""
    there = graphs[..., reading.query, :][..., reading.document].sum()
    back = graphs[..., reading.document, :][..., reading.query].sum()
    received = graphs[..., [*reading.query, *reading.document], :].sum()
    return float((there + back) / received) if received > 0 else float("nan")


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


def compare_graphs(
    seeds: Sequence[tuple[dict[str, Shares], Shares]], clusters: Sequence[str], relevant: Sequence[bool], seed: int
) -> GraphsCompared:
    """Each view compared, and what crosses under each mask; Holm-corrected over all of these tests."""
    every = [one[0][EVERY] for one in seeds]
    some = [i for i, yes in enumerate(relevant) if yes]
    chosen = [{mask: [values[i] for i in some] for mask, values in one.items()} for one in every]
    parts = {
        EVERY: shares_compared(every, clusters, seed, DIFFERENT),
        RELEVANT: shares_compared(chosen, [clusters[i] for i in some], seed, DIFFERENT),
        CONTENT: shares_compared([one[0][CONTENT] for one in seeds], clusters, seed, DIFFERENT),
        "crossing": shares_compared([one[1] for one in seeds], clusters, seed),
    }
    holm = iter(corrected([row.comparison for one in parts.values() for row in one.differences]))
    views = {
        name: replace(one, differences=tuple(replace(row, comparison=next(holm)) for row in one.differences))
        for name, one in parts.items()
    }
    return GraphsCompared(crossing=views.pop("crossing"), views=views)


def shares_compared(
    seeds: Sequence[Shares], clusters: Sequence[str], seed: int, tested: Sequence[str] = MASKS[1:]
) -> GraphShares:
    """Means by mask over the readings that have mass under all masks, and some of them against no mask."""
    table = {mask: [fmean(one[mask][i] for one in seeds) for i in range(len(clusters))] for mask in MASKS}
    whole = [i for i in range(len(clusters)) if all(np.isfinite(table[mask][i]) for mask in MASKS)]
    if not whole:
        return GraphShares({}, (), 0)
    kept = {mask: [values[i] for i in whole] for mask, values in table.items()}
    some = [clusters[i] for i in whole]
    none = kept[MASKS[0]]
    rows = [
        Difference("graphs", mask, MASKS[0], "share", difference(kept[mask], none, some, seed)) for mask in tested
    ]
    return GraphShares(means(kept, some, seed), tuple(rows), len(whole))
