"""Do the leading heads together recover the gap? Chosen on one half of the queries, measured on the other.

Heads that are chosen and measured on the same pairs look larger than they are; each half chooses for the other.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from whyrank.axioms.pair import MinimalPair
from whyrank.encoders.site import Site, SiteSet
from whyrank.evaluation.estimate import Estimate
from whyrank.interventions.plan import SitePlan
from whyrank.interventions.statistics import SiteTable
from whyrank.interventions.summary import splits
from whyrank.papers.term_frequency.parts import JointShare, SiteEffect, Together
from whyrank.papers.term_frequency.summaries import leading_heads, site_effects

if TYPE_CHECKING:
    import pandas as pd

#: Makes the rows of a named sweep.
Rows = Callable[[str, Sequence[MinimalPair], SitePlan], "pd.DataFrame"]


def together(append: pd.DataFrame, pairs: Sequence[MinimalPair], rows: Rows, seed: int = 0) -> Together:
    """The share of the gap that leading heads recover, patched together at the injected term: those that raise the
    score, and all of them; and which each half chose."""
    halves = _halves(pairs, seed)
    chosen = [_chosen(append, half, seed) for half in halves]

    def measured(name: str, heads_of: Callable[[SiteEffect], bool]) -> JointShare | None:
        frames = []
        for i, (half, other) in enumerate(zip(halves, reversed(chosen), strict=True)):
            heads = [one.name for one in other if heads_of(one)]
            if heads and half:
                frames.append(rows(f"together, {name}, half {i + 1}", half, SitePlan((_at_injected(heads),))))
        return _pooled(frames, seed)

    return Together(
        halves=tuple(tuple(one.name for one in some) for some in chosen),
        positive=measured("positive", lambda one: (one.share.value or 0.0) > 0),
        all=measured("all", lambda one: True),
    )


def _halves(pairs: Sequence[MinimalPair], seed: int) -> list[list[MinimalPair]]:
    """The pairs of either half of the queries."""
    queries = sorted({pair.qid or pair.id for pair in pairs})
    first = set(random.Random(f"{seed} halves").sample(queries, len(queries) // 2))
    return [[pair for pair in pairs if ((pair.qid or pair.id) in first) == mine] for mine in (True, False)]


def _chosen(append: pd.DataFrame, half: Sequence[MinimalPair], seed: int) -> list[SiteEffect]:
    """The heads that stand out in the rows of these pairs."""
    mine = append[append["pair"].isin([pair.id for pair in half])]
    if mine.empty:
        return []
    sites = site_effects(mine, seed)
    found = {site.name: site for site in sites}
    return [found[head] for head in leading_heads(sites)]


def _at_injected(heads: Iterable[str]) -> SiteSet:
    parsed = [Site.parse(head) for head in heads]
    return SiteSet(tuple(Site("z", site.layer, site.head, "inj") for site in parsed))


def _pooled(frames: Sequence[pd.DataFrame], seed: int) -> JointShare | None:
    import pandas as pd

    if not frames:
        return None
    rows = pd.concat(frames, ignore_index=True).assign(site="together")
    bands = splits(rows).get("rank", {})
    return JointShare(_share(rows, seed), {band: _share(some, seed) for band, some in bands.items()})


def _share(rows: pd.DataFrame, seed: int) -> Estimate:
    table = SiteTable.of(rows)
    interval = table.intervals(seed)["share"][0]
    return Estimate.of(float(table.shares()[0]), interval, len(rows), len(table.queries))
