"""From the rows of a sweep to what each head does, which heads stand out, and whether there is a gap to share.

The pairs that have a category of tokens, or are of one rank band, may together have no gap, and a share of nothing
can be any number.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from whyrank.evaluation.estimate import Estimate
from whyrank.interventions.statistics import SiteSummary, clusters
from whyrank.interventions.summary import correlate, splits, summarise
from whyrank.papers.term_frequency.parts import Likeness, PairSet, SiteEffect

if TYPE_CHECKING:
    import pandas as pd

#: Heads that are looked at one by one; and how many, where none is significant.
MOST, FEWEST = 6, 3


def site_effects(rows: pd.DataFrame, seed: int = 0) -> tuple[SiteEffect, ...]:
    """What each site does."""
    return tuple(map(_effect, summarise(rows, seed=seed).sites))


def _effect(site: SiteSummary) -> SiteEffect:
    return SiteEffect(**vars(site))


def pair_set(rows: pd.DataFrame, seed: int = 0) -> PairSet:
    """What each head does in one set of pairs."""
    summary, parts, bands = summarise(rows, seed=seed), splits(rows), splits(one_per_pair(rows)).get("rank", {})
    return PairSet(
        pairs=summary.pairs,
        queries=summary.queries,
        gap=summary.gap,
        mean_gap=mean_gap(rows, seed),
        keep=summary.keep,
        heads=tuple(map(_effect, summary.sites)),
        splits={
            name: {group: with_gap(map(_effect, sites), parts[name][group], seed) for group, sites in some.items()}
            for name, some in summary.splits.items()
        },
        adherence={band: adherence(some, seed) for band, some in bands.items()},
    )


def likeness(append: pd.DataFrame, other: pd.DataFrame, seed: int = 0) -> Likeness:
    """How alike the map of heads on other pairs is to append's."""
    summary, (correlation, _) = summarise(other, seed=seed), correlate(append, other, seed)
    leading = leading_heads(tuple(map(_effect, summary.sites)))
    return Likeness(summary.pairs, summary.gap.mean, summary.keep.adherent, correlation, leading)


def leading_heads(sites: Sequence[SiteEffect], most: int = MOST) -> tuple[str, ...]:
    """The heads (`0.9`) that stand out: significant after Holm's correction over all of them, the largest shares
    first; where none is significant, the three largest."""
    heads = [site for site in sites if site.head is not None and site.category is None]
    order = sorted(heads, key=lambda site: -site.size)
    significant = [site for site in order if site.is_significant]
    return tuple(f"{site.layer}.{site.head}" for site in (significant or order[:FEWEST])[:most])


def one_per_pair(rows: pd.DataFrame) -> pd.DataFrame:
    """The first row of each pair."""
    return rows.drop_duplicates("pair")


def mean_gap(rows: pd.DataFrame, seed: int = 0) -> Estimate:
    """The mean gap of the pairs that some rows are of."""
    pairs = one_per_pair(rows)
    return Estimate.mean(
        (pairs["perturbed"] - pairs["base"]).to_numpy(dtype=float), clusters(pairs).tolist(), seed
    )


def adherence(pairs: pd.DataFrame, seed: int = 0) -> Estimate:
    """The share of the pairs that score higher on the perturbed side."""
    adherent = (pairs["perturbed"] > pairs["base"]).to_numpy(dtype=float)
    return Estimate.mean(adherent, clusters(pairs).tolist(), seed, share=True)


def with_gap(sites: Iterable[SiteEffect], rows: pd.DataFrame, seed: int = 0) -> tuple[SiteEffect, ...]:
    """The same sites; each says whether the pairs that have it surely have a gap."""
    pairs = {str(site): frozenset(some["pair"]) for site, some in rows.groupby("site", sort=False)}
    known = {some: mean_gap(rows[rows["pair"].isin(some)], seed).is_sure for some in set(pairs.values())}
    return tuple(replace(site, has_gap=known[pairs[site.site]]) for site in sites)
