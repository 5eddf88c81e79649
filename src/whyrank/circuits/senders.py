"""Blocks as senders into each matching head: residual stream, attention and MLP outputs of every layer below.

Path patching with every other head frozen (the authors' function for this step freezes nothing): what part of the
gap comes to the score through this head's queries, keys and values together.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from whyrank.axioms.pair import MinimalPair
from whyrank.circuits.head import Head
from whyrank.circuits.search import PARTS
from whyrank.core.progress import OpenProgress, no_progress
from whyrank.encoders.site import SiteSet
from whyrank.interventions.path import PathPatching
from whyrank.interventions.plan import SitePlan
from whyrank.interventions.statistics import summarise_sites
from whyrank.interventions.sweep import sweep
from whyrank.rankers.neural import NeuralRanker


def block_senders(
    ranker: NeuralRanker,
    heads: Sequence[Head],
    pairs: Sequence[MinimalPair],
    *,
    seed: int = 0,
    shards: Path | None = None,
    watch: OpenProgress | None = None,
) -> dict[str, list[dict[str, Any]]]:
    """For each head the summaries of its senders, as in summary.json."""
    found = {}
    for head in heads:
        path = PathPatching(SiteSet(tuple(head.site(part) for part in PARTS)))
        plan = SitePlan.parse("blocks", ranker.encoder, None, path.reached_from)
        folder = None if shards is None else shards / str(head)
        with (watch or no_progress)(f"blocks to {head}", len(pairs)) as tell:
            frame = sweep(ranker, pairs, plan, path, shards=folder, progress=tell).frame
        found[str(head)] = [one.to_json() for one in summarise_sites(frame, seed=seed)]
    return found
