"""What reaches the matching heads, and what they pass on.

Blocks as senders into each matching head: residual stream, attention and MLP outputs of every layer below. Path
patching with every other head frozen (the authors' function for this step freezes nothing): what part of the gap
comes to the score through this head's queries, keys and values together.

Blocks as senders at some tokens only (the paper's Figs 19 to 22, by position): to the logits, and to all heads of
a role together. Positions of different texts have nothing in common, so they are told apart by what stands there:
[CLS], the query, the injected term, ...

The matching heads, all together, as one sender to the scoring heads' queries: near 0 if they tell the scoring
heads what matched (values), not where to look (queries).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from whyrank.axioms.pair import MinimalPair
from whyrank.circuits.head import Head, together
from whyrank.circuits.results import LOGITS, TESTS, MatchingToScoring
from whyrank.circuits.roles import Roles
from whyrank.circuits.search import PARTS
from whyrank.core.progress import OpenProgress, no_progress
from whyrank.encoders.site import SiteSet
from whyrank.interventions.path import PathPatching
from whyrank.interventions.plan import SitePlan
from whyrank.interventions.statistics import SiteSummary, summarise_sites
from whyrank.interventions.sweep import sweep
from whyrank.rankers.neural import NeuralRanker


def block_senders(
    ranker: NeuralRanker,
    heads: Sequence[Head],
    pairs: Sequence[MinimalPair],
    *,
    seed: int = 0,
    shards: Path | None = None,
    progress: OpenProgress = no_progress,
) -> dict[str, tuple[SiteSummary, ...]]:
    """For each head what the blocks below send to it."""
    found = {}
    for head in heads:
        path = PathPatching(SiteSet(tuple(head.site(part) for part in PARTS)))
        plan = SitePlan.parse("blocks", ranker.encoder, None, path.reached_from)
        with progress(f"blocks to {head}", len(pairs)) as advance:
            frame = sweep(ranker, pairs, plan, path, shards=shards and shards / str(head), progress=advance).frame
        found[str(head)] = summarise_sites(frame, seed=seed)
    return found


def senders_by_token(
    ranker: NeuralRanker,
    roles: Roles,
    pairs: Sequence[MinimalPair],
    *,
    seed: int = 0,
    shards: Path | None = None,
    progress: OpenProgress = no_progress,
) -> dict[str, tuple[SiteSummary, ...]]:
    """For the logits, and for the heads of each role together (q, k and v), what each block below sends at the
    tokens of each category."""
    receivers: dict[str, SiteSet | None] = {LOGITS: None}
    for role in TESTS:
        if roles.get(role):
            receivers[role] = SiteSet(tuple(head.site(part) for head in roles[role] for part in PARTS))
    found = {}
    for name, heads in receivers.items():
        path = PathPatching(heads)
        plan = SitePlan.parse("blocks", ranker.encoder, "category", path.reached_from)
        with progress(f"blocks by token to {name}", len(pairs)) as advance:
            frame = sweep(ranker, pairs, plan, path, shards=shards and shards / name, progress=advance).frame
        found[name] = summarise_sites(frame, seed=seed)
    return found


def matching_to_scoring(
    ranker: NeuralRanker,
    matching: Sequence[Head],
    scoring: Sequence[Head],
    pairs: Sequence[MinimalPair],
    *,
    seed: int = 0,
    shards: Path | None = None,
    progress: OpenProgress = no_progress,
) -> MatchingToScoring:
    """The share of the gap that all matching heads below the scoring heads send to their v, q and k, each
    apart."""
    below = [head for head in matching if head.layer < min(one.layer for one in scoring)]
    found = {}
    for part in PARTS if below else ():
        path, plan = PathPatching(together(scoring, part)), SitePlan((together(below),))
        with progress(f"matching heads to the scoring heads' {part}", len(pairs)) as advance:
            frame = sweep(ranker, pairs, plan, path, shards=shards and shards / part, progress=advance).frame
        (found[part],) = summarise_sites(frame, seed=seed)
    return MatchingToScoring(tuple(map(str, below)), tuple(map(str, scoring)), **found)
