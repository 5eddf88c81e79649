"""The nodes of a ranker, and orders of them: by integrated gradients, by the search, by chance."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from whyrank.axioms.pair import MinimalPair
from whyrank.circuits.head import all_heads
from whyrank.circuits.results import EMBED, Found
from whyrank.core.names import plain_name
from whyrank.core.progress import OpenProgress, no_progress
from whyrank.encoders.encoder import Encoder
from whyrank.encoders.site import Site, SiteSet
from whyrank.interventions.attribution import Attribution
from whyrank.interventions.plan import SitePlan
from whyrank.interventions.sweep import sweep
from whyrank.rankers.neural import NeuralRanker

if TYPE_CHECKING:
    import pandas as pd

#: Steps of the integrated gradients, as EAP-IG takes.
STEPS = 5
Order = tuple[Site, ...]


def all_nodes(encoder: Encoder, mlps: bool = False) -> Order:
    """Every head's output, and with `mlps` every MLP's, from the bottom up."""
    heads = [head.site() for head in all_heads(encoder)]
    more = [Site("mlp", layer) for layer in range(encoder.layers)] if mlps else []
    return tuple(sorted([*heads, *more], key=_layer))


def attribution_order(
    ranker: NeuralRanker,
    sets: Mapping[str, Sequence[MinimalPair]],
    nodes: Sequence[Site],
    *,
    steps: int = STEPS,
    shards: Path | None = None,
    progress: OpenProgress = no_progress,
) -> Order:
    """The strongest first: |sum of effects| by integrated gradients, as a part of all nodes' in each set of pairs,
    and the mean of that over the sets, so that one with larger gaps does not decide for all."""
    plan = SitePlan(tuple(SiteSet((node,)) for node in nodes))
    parts = []
    for name, some in sets.items():
        with progress(f"integrated gradients ({name})", len(some)) as advance:
            folder = shards and shards / plain_name(name)
            frame = sweep(ranker, some, plan, Attribution(steps=steps), shards=folder, progress=advance).frame
        parts.append(_parts(frame))
    strength = {node: sum(part.get(str(node), 0.0) for part in parts) for node in nodes}
    return tuple(sorted(nodes, key=lambda node: -strength[node]))


def _parts(frame: pd.DataFrame) -> dict[str, float]:
    """Each site's |sum of effects| as a part of all sites'."""
    sums = frame.groupby("site", sort=False)["effect"].sum().abs()
    total = float(sums.sum())
    return {} if not total else {str(site): float(value) / total for site, value in sums.items()}


def path_order(found: Found, nodes: Sequence[Site]) -> Order:
    """The search's own order: heads that it kept, then all others, each by the largest |share of the gap| that it
    had in any step; heads that no step patched come last."""
    strongest: dict[str, float] = {}
    for step in found.steps:
        for name, share in step.shares.items():
            if name != EMBED and share is not None:
                strongest[name] = max(strongest.get(name, 0.0), abs(share))
    kept = {head.site() for head in found.heads}
    return tuple(sorted(nodes, key=lambda node: (node not in kept, -strongest.get(_name(node), -1.0))))


def random_order(nodes: Sequence[Site], seed: str) -> Order:
    return tuple(random.Random(seed).sample(list(nodes), len(nodes)))


def layer_matched(order: Sequence[Site], seed: str) -> Order:
    """A random order that takes from the layers, and from heads and MLPs, in the same turn as `order` does."""
    draw = random.Random(seed)
    left: dict[tuple[str, int], list[Site]] = {}
    for node in sorted(order, key=str):
        left.setdefault(_kind(node), []).append(node)
    for some in left.values():
        draw.shuffle(some)
    return tuple(left[_kind(node)].pop() for node in order)


def _kind(node: Site) -> tuple[str, int]:
    return node.part, _layer(node)


def _layer(node: Site) -> int:
    assert node.layer is not None
    return node.layer


def _name(node: Site) -> str:
    """As the search writes it."""
    return str(node).removesuffix(".z")
