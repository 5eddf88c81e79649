"""Information flow: where the signal of an injected term stands, layer by layer, and where it goes.

`stands(l, c)` is the share of the gap that the residual stream at layer l carries in the tokens of category c:
activation patching of `L.resid@c`. `moves(l, c)` is what the heads of layer l pick up from those tokens: path
patching from `L.resid@c` to the queries, keys and values of all heads of the layer. `lands(l, c)` is what
attention writes into the tokens of category c there: activation patching of `L.attn@c`. A link from a to b in the
figure has the width moves(l, a) x lands(l, b) / sum over c of lands(l, c): what is picked up is measured, and
where it lands is measured, but not which part of it lands where.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whyrank.axioms.pair import MinimalPair
from whyrank.encoders.site import Site, SiteSet
from whyrank.interventions.activation import Activation
from whyrank.interventions.intervention import Intervention
from whyrank.interventions.path import PathPatching
from whyrank.interventions.plan import SitePlan
from whyrank.interventions.statistics import summarise_sites
from whyrank.interventions.sweep import sweep
from whyrank.rankers.neural import NeuralRanker
from whyrank.rankers.ranker import Progress

if TYPE_CHECKING:
    import pandas as pd

#: Where the signal can stand; what is parked elsewhere is told as `other`.
STATIONS = ("inj", "qterm+", "qterm-", "cls", "other", "sep", "query", "filler")
PARTS = ("q", "k", "v")


def information_flow(
    ranker: NeuralRanker,
    pairs: Sequence[MinimalPair],
    *,
    shards: Path | None = None,
    progress: Progress | None = None,
    seed: int = 0,
) -> list[dict[str, Any]]:
    """A row for each layer and category: stands, moves and lands, each a share with its interval and n."""
    encoder, found = ranker.encoder, []
    for layer in range(encoder.layers):
        heads = SiteSet(tuple(Site(p, layer, head) for head in range(encoder.heads) for p in PARTS))
        plans: dict[str, tuple[Intervention, Site]] = {
            "stands": (Activation(), Site("resid", layer)),
            "moves": (PathPatching(heads), Site("resid", layer)),
            "lands": (Activation(), Site("attn", layer)),
        }
        told: dict[str, dict[str, Any]] = {}
        for name, (how, site) in plans.items():
            folder = None if shards is None else shards / f"{layer}-{name}"
            frame = sweep(ranker, pairs, SitePlan((SiteSet((site,)),), "category"), how, shards=folder).frame
            for category, summary in _by_category(frame, seed).items():
                told.setdefault(category, {})[name] = summary
        found += [{"layer": layer, "category": name, **told[name]} for name in STATIONS if name in told]
        if progress:
            progress(1)
    return found


def links(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The links between stations: layer, from, to, width; shares below 0 carry nothing on."""
    found = []
    for layer in sorted({row["layer"] for row in rows}):
        mine = [row for row in rows if row["layer"] == layer]
        landing = {row["category"]: max(0.0, _share(row, "lands")) for row in mine}
        total = sum(landing.values())
        for row in mine:
            leaving = max(0.0, _share(row, "moves"))
            for category, width in landing.items():
                if total and leaving * width:
                    found.append(
                        {"layer": layer, "from": row["category"], "to": category, "width": leaving * width / total}
                    )
    return found


def _by_category(frame: pd.DataFrame, seed: int) -> dict[str, dict[str, Any]]:
    return {
        str(one.category): {"share": one.to_json()["share"], **one.to_json()["share_interval"], "n": one.n}
        for one in summarise_sites(frame, seed=seed)
    }


def _share(row: dict[str, Any], name: str) -> float:
    value = row.get(name, {}).get("share")
    return 0.0 if value is None else float(value)
