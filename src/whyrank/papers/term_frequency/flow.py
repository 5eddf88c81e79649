"""Information flow: where the signal of an injected term stands, layer by layer, and where it goes.

`stands(l, c)` is the share of the gap of all pairs that the residual stream at layer l carries in the tokens of
category c (nothing in pairs that have none): activation patching of `L.resid@c`; for the last states, which the
read-out reads, those of category c alone, at l = the number of layers. `moves(l, c)` is what the heads of layer l
pick up from those tokens: path patching from `L.resid@c` to the queries, keys and values of all heads of the
layer. `lands(l, c)` is what attention writes into the tokens of category c there: activation patching of
`L.attn@c`. A link from a to b in the figure has the width moves(l, a) x lands(l, b) / sum over c of lands(l, c):
what is picked up is measured, and where it lands is measured, but not which part of it lands where.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from whyrank.encoders.encoder import Encoder
from whyrank.encoders.site import BLOCK_PARTS, Site, SiteSet
from whyrank.evaluation.estimate import Estimate
from whyrank.interventions.intervention import Intervention
from whyrank.interventions.opened import OpenedPair
from whyrank.interventions.path import PathPatching
from whyrank.interventions.plan import SitePlan
from whyrank.interventions.statistics import SiteTable
from whyrank.papers.term_frequency.parts import FlowLink, FlowRow
from whyrank.rankers.neural import no_gradients

if TYPE_CHECKING:
    import pandas as pd

#: Where the signal can stand; what is parked elsewhere counts as `other`.
STATIONS = ("inj", "qterm+", "qterm-", "cls", "other", "sep", "query", "filler")
PARTS = ("q", "k", "v")
#: What lands, as a part of the most that does at that layer, below which it is noise.
NOISE = 0.01


@dataclass(frozen=True)
class FinalStates(Intervention):
    """The last states of some tokens put into the baseline run: what the read-out reads there, and nothing that
    heads of the last layer would pick up on the way. The patches' categories say which tokens. A read-out that
    reads all layers has the baseline's below the last."""

    direction: str = "denoise"
    method = "activation"

    def inputs(self) -> list[object]:
        return ["final states", self.direction]

    def scores(self, opened: OpenedPair, patches: Sequence[SiteSet]) -> Tensor:
        target, source = opened.runs(self.direction)
        rows = opened.ranker.rows
        masks = [opened.categories[str(patch.sites[0].at)] for patch in patches]
        chosen = torch.stack(masks if rows is None else [mask[list(rows)] for mask in masks])
        with no_gradients():
            states = torch.where(chosen[:, :, None], source.resid[-1], target.resid[-1])
            read = opened.ranker.encoder.anatomy.final_norm(states)
            if opened.ranker.reads_all_layers:
                below = torch.stack(target.resid[:-1]).expand(len(patches), -1, -1, -1)
                read = torch.cat([below, read[:, None]], dim=1)
            return opened.read_out(read, target.inputs.repeated(len(patches))).cpu()


def final_states(encoder: Encoder) -> SitePlan:
    """All that goes into the last layer's sum, by category: the last states."""
    last = encoder.layers - 1
    return SitePlan((SiteSet(tuple(Site(part, last) for part in BLOCK_PARTS)),), "category")


def pick_up(layer: int, heads: int) -> tuple[SitePlan, PathPatching]:
    """From the stream at a layer, by category, to all heads of that layer."""
    receivers = SiteSet(tuple(Site(part, layer, head) for head in range(heads) for part in PARTS))
    return SitePlan((SiteSet((Site("resid", layer),)),), "category"), PathPatching(receivers)


def information_flow(
    blocks: pd.DataFrame, final: pd.DataFrame, moves: Callable[[int], pd.DataFrame], layers: int, seed: int = 0
) -> tuple[FlowRow, ...]:
    """A row for each layer and category.

    `blocks` are the rows of blocks by category, `final` of the last states, `moves(layer)` of what is picked up.
    """
    found: list[FlowRow] = []
    for layer in range(layers):
        mine = blocks[blocks["layer"] == layer]
        stands = _by_category(mine[mine["site"].str.contains(".resid", regex=False)], seed)
        picked_up = _by_category(moves(layer), seed)
        lands = _by_category(mine[mine["site"].str.contains(".attn", regex=False)], seed)
        found += [
            FlowRow(layer, name, stands.get(name), picked_up.get(name), lands.get(name))
            for name in STATIONS
            if name in stands or name in picked_up or name in lands
        ]
    at_the_end = _by_category(final, seed)
    return (*found, *(FlowRow(layers, name, at_the_end[name]) for name in STATIONS if name in at_the_end))


def links(rows: Sequence[FlowRow]) -> tuple[FlowLink, ...]:
    """The links between stations. Shares below 0 carry nothing on, and nothing lands where it is lost in the noise
    of all that lands there."""
    found = []
    for layer in sorted({row.layer for row in rows}):
        mine = [row for row in rows if row.layer == layer]
        landing = {row.category: _share(row.lands) for row in mine}
        least = NOISE * max(map(abs, landing.values()))
        landing = {category: share for category, share in landing.items() if share > least}
        total = sum(landing.values())
        for row in mine:
            leaving = max(0.0, _share(row.moves))
            found += [
                FlowLink(layer, row.category, category, leaving * width / total)
                for category, width in landing.items()
                if total and leaving * width
            ]
    return tuple(found)


def _by_category(frame: pd.DataFrame, seed: int) -> dict[str, Estimate]:
    """Sums of effects over the sum of all pairs' gaps, so that shares of categories are parts of one whole.

    A category's own pairs may have no gap to have a share of.
    """
    if frame.empty:
        return {}
    table, pairs = SiteTable.of(frame), SiteTable.of(frame.drop_duplicates("pair").assign(site="all pairs"))
    assert pairs.queries == table.queries
    gap, size = (sums.repeat(len(table.sites), axis=1) for sums in (pairs.gap, pairs.size))
    of_all = replace(table, gap=gap, size=size)
    categories = frame.groupby("site", sort=False)["category"].first()
    shares, ends, counts = of_all.shares(), of_all.intervals(seed)["share"], table.count.sum(axis=0)
    return {
        str(categories[site]): Estimate.of(float(shares[i]), ends[i], int(counts[i]), int(table.present[i]))
        for i, site in enumerate(table.sites)
    }


def _share(one: Estimate | None) -> float:
    return 0.0 if one is None or one.value is None else one.value
