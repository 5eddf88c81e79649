"""Figures 6 to 8: one query looked at, by the models of the first fold.

Figure 6 is the word graph of its best candidate under each mask; Figures 7 and 8 where all its candidates stand.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from whyrank.core.errors import UserError
from whyrank.core.progress import OpenProgress
from whyrank.core.stages import Stages
from whyrank.learning.models.dgre import DGRe
from whyrank.learning.models.graph_network import GraphNetwork
from whyrank.learning.plan import Plan
from whyrank.papers.disentangled.embeddings import embedded
from whyrank.papers.disentangled.kept_models import KeptModels
from whyrank.papers.disentangled.relations import read
from whyrank.papers.disentangled.results import OneQuery, Plane, WordGraphs
from whyrank.papers.disentangled.variants import rows_of
from whyrank.rankers.ranker import Pair

MASKS = ("none", "heuristic", "adaptive")
#: Pieces of a document that are shown.
SHOWN = 40


@dataclass(frozen=True, eq=False)
class QueryFigures:
    """The query asked for, or one that is chosen, in the models of the first fold of a plan."""

    plan: Plan
    asked: str | None = None
    seed: int = 0

    @property
    def qid(self) -> str:
        """The query asked for, or the first fold's test query with most relevant candidates, as far as it has as
        many others to tell them from."""
        if self.asked is None:
            return max(self.plan.splits[0].test, key=lambda qid: (self._told_apart(qid), qid))
        if not self.plan.material.candidates.get(self.asked):
            todo = "give the id of a judged query that has candidates"
            raise UserError(f"no query {self.asked!r}", where=self.plan.material.name, todo=todo)
        return self.asked

    def data(self, models: KeptModels, stages: Stages, progress: OpenProgress) -> OneQuery:
        """The numbers behind the figures, each of them kept as a stage."""
        qid, material = self.qid, self.plan.material
        best = max(material.candidates[qid], key=lambda row: (material.grade(qid, row.docno), -row.rank))
        part = next((part for part, qids in self.plan.splits[0] if qid in qids), "none")
        name = f"figures-{zlib.crc32(qid.encode()):08x}"
        pair = material.pair(qid, best.docno)
        return OneQuery(
            qid, material.queries[qid], part, best.docno, material.grade(qid, best.docno),
            word_graphs=stages.typed(
                f"{name}-word-graphs", WordGraphs | None, lambda: word_graphs(_dgre(models, "dgre"), pair)
            ),
            t_sne=stages.typed(f"{name}-t-sne", dict[str, Plane], partial(self._planes, models, progress)),
        )  # fmt: skip

    def _planes(self, models: KeptModels, progress: OpenProgress) -> dict[str, Plane]:
        """All candidates of the query in each model, by the loss that it learned from."""
        material, found = self.plan.material, {}
        pairs = [material.pair(self.qid, row.docno) for row in material.candidates[self.qid]]
        for title, variant in rows_of("figures"):
            if variant in models.folders:
                network = _dgre(models, variant, whole=True)
                with progress(f"t-SNE, {title}", len(pairs)) as advance:
                    found[title] = embedded(network, pairs, self._relevant(self.qid), self.seed, advance)
        return found

    def _told_apart(self, qid: str) -> int:
        relevant = self._relevant(qid)
        return min(sum(relevant), len(relevant) - sum(relevant))

    def _relevant(self, qid: str) -> list[bool]:
        positive = set(self.plan.material.positives[qid])
        return [row.docno in positive for row in self.plan.material.candidates[qid]]


def _dgre(models: KeptModels, variant: str, *, whole: bool = False) -> DGRe:
    network = models.network(variant, whole=whole)
    assert isinstance(network, DGRe)
    return network


def word_graphs(network: GraphNetwork, pair: Pair, layer: int = -1, shown: int = SHOWN) -> WordGraphs | None:
    """The relations A of the query's word pieces and so many of the document's, all with all, at one refined layer
    under each mask; and where the same word stands on both sides. None where one side has no word."""
    reading = read(network, network.backbone.encoder.word_embeddings, "", pair)
    if reading is None:
        return None
    start = _window(reading.same, shown)
    places = [*reading.query, *reading.document[start : start + shown]]
    layer = range(network.refined_layers)[layer]
    name = network.backbone.pieces.tokenizer.id_to_token
    ids = network.read([pair]).inputs.ids[0].tolist()
    return WordGraphs(
        layer,
        network.refined_layers,
        query=len(reading.query),
        pieces=tuple(str(name(ids[place])) for place in places),
        exact=_exact(reading.same[:, start : start + shown]),
        graphs={
            mask: tuple(map(tuple, graphs[layer][places][:, places].tolist()))
            for mask, graphs in graphs_of(network, pair).items()
        },
        cut=len(reading.document) > shown,
    )


def graphs_of(network: GraphNetwork, pair: Pair) -> dict[str, Tensor]:
    """The word graphs of all refined layers, [layers, S, S], under each mask."""
    batch = network.read([pair])
    with torch.no_grad():
        states, scene = network.backbone(batch.inputs)[-network.refined_layers :], network.scene(batch)
        return {
            mask: torch.stack([
                network.graphs(layer, state, scene.sides, scene.packing, mask).matrix()[0]
                for layer, state in enumerate(states)
            ])
            for mask in MASKS
        }  # fmt: skip


def _window(same: Tensor, shown: int) -> int:
    """Where the part of the document [m, n] begins that has most words of the query; of equals the first."""
    hits = same.any(dim=0).int().tolist()
    starts = range(max(1, len(hits) - shown + 1))
    return max(starts, key=lambda start: (sum(hits[start : start + shown]), -start))


def _exact(same: Tensor) -> tuple[tuple[int, int], ...]:
    """The cells, query word and document word, that hold the same word."""
    return tuple((int(i), len(same) + int(j)) for i, j in same.nonzero())
