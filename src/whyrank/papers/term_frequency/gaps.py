"""Is there a gap to have a share of? The pairs that have a category of tokens, or are of one rank band, may
together have none, and a share of nothing can be any number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from whyrank.evaluation.bootstrap import clustered_intervals
from whyrank.evaluation.estimate import Estimate
from whyrank.evaluation.interval import Interval
from whyrank.interventions.statistics import clusters

if TYPE_CHECKING:
    import pandas as pd

Sites = Sequence[Mapping[str, Any]]


def mean_gap(rows: pd.DataFrame, seed: int = 0) -> Interval:
    """The interval of the mean gap of the pairs that some rows are of."""
    one = rows.drop_duplicates("pair")
    gaps = (one["perturbed"] - one["base"]).to_numpy(dtype=float)
    (ends,) = clustered_intervals(gaps[:, None], clusters(one).tolist(), seed=seed)
    return ends


def adherence(pairs: pd.DataFrame, seed: int = 0) -> dict[str, Any]:
    """How many of the pairs score higher on the perturbed side, and the interval of their share."""
    adherent = (pairs["perturbed"] > pairs["base"]).to_numpy(dtype=float)
    share = Estimate.mean(adherent, clusters(pairs).tolist(), seed, share=True)
    return {"adherent": int(adherent.sum()), "pairs": len(pairs), "interval": share.interval.to_json()}


def with_sure(sites: Sites, rows: pd.DataFrame, seed: int = 0) -> list[dict[str, Any]]:
    """Each site's summary, and whether the pairs that have it surely have a gap."""
    pairs = {str(site): frozenset(some["pair"]) for site, some in rows.groupby("site", sort=False)}
    known = {some: mean_gap(rows[rows["pair"].isin(some)], seed).leaves_out_zero for some in set(pairs.values())}
    return [{**site, "sure": known[pairs[site["site"]]]} for site in sites]
