"""Do the leading heads together recover the gap? Chosen on one half of the queries, measured on the other.

Heads that are chosen and measured on the same pairs look larger than they are; each half chooses for the other.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from whyrank.axioms.pair import MinimalPair
from whyrank.encoders.site import Site, SiteSet
from whyrank.interventions.effects import Effects
from whyrank.interventions.plan import SitePlan
from whyrank.interventions.statistics import summarise_sites
from whyrank.interventions.summary import splits
from whyrank.papers.term_frequency.leading import leading_heads

if TYPE_CHECKING:
    import pandas as pd

#: Makes the rows of a named sweep.
Rows = Callable[[str, Sequence[MinimalPair], SitePlan], "pd.DataFrame"]


def together(append: pd.DataFrame, pairs: Sequence[MinimalPair], rows: Rows, seed: int = 0) -> dict[str, Any]:
    """The share of the gap that leading heads recover, patched together at the injected term: those that raise the
    score, and all of them; and which each half chose."""
    halves = _halves(pairs, seed)
    chosen = [_chosen(append, half, seed) for half in halves]
    told: dict[str, Any] = {"halves": [[head for head, _ in some] for some in chosen]}
    for name in ("positive", "all"):
        frames = []
        for i, (half, other) in enumerate(zip(halves, reversed(chosen), strict=True)):
            heads = [head for head, share in other if name == "all" or share > 0]
            if heads and half:
                frames.append(rows(f"together, {name}, half {i + 1}", half, SitePlan((_at_injected(heads),))))
        told[name] = _pooled(frames, seed)
    return told


def _halves(pairs: Sequence[MinimalPair], seed: int) -> list[list[MinimalPair]]:
    """The pairs of either half of the queries."""
    queries = sorted({pair.qid or pair.id for pair in pairs})
    first = set(random.Random(f"{seed} halves").sample(queries, len(queries) // 2))
    return [[pair for pair in pairs if ((pair.qid or pair.id) in first) == mine] for mine in (True, False)]


def _chosen(append: pd.DataFrame, half: Sequence[MinimalPair], seed: int) -> list[tuple[str, float]]:
    """The heads that stand out in the rows of these pairs, with their shares."""
    mine = append[append["pair"].isin([pair.id for pair in half])]
    if mine.empty:
        return []
    sites = Effects(mine).summary(seed=seed)["sites"]
    shares = {f"{site['layer']}.{site['head']}": site["share"] or 0.0 for site in sites}
    return [(head, shares[head]) for head in leading_heads(sites)]


def _at_injected(heads: Iterable[str]) -> SiteSet:
    parsed = [Site.parse(head) for head in heads]
    return SiteSet(tuple(Site("z", site.layer, site.head, "inj") for site in parsed))


def _pooled(frames: Sequence[pd.DataFrame], seed: int) -> dict[str, Any] | None:
    import pandas as pd

    if not frames:
        return None
    rows = pd.concat(frames, ignore_index=True).assign(site="together")
    bands = splits(rows).get("rank", {})
    return {**_share(rows, seed), "bands": {band: _share(some, seed) for band, some in bands.items()}}


def _share(rows: pd.DataFrame, seed: int) -> dict[str, Any]:
    (told,) = (one.to_json() for one in summarise_sites(rows, seed=seed))
    return {"share": told["share"], **told["share_interval"], "n": told["n"]}
