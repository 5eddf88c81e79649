"""Differences between groups of the same effects: append less prepend, violating less adhering."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

from whyrank.evaluation.bootstrap import DRAWS, cluster_sums, cluster_weights, clustered_intervals, middle
from whyrank.evaluation.significance import holm, paired_t_test
from whyrank.interventions.statistics import clusters, finite, interval_json, text_or_none

if TYPE_CHECKING:
    import pandas as pd


def paired_difference(one: pd.DataFrame, other: pd.DataFrame) -> list[dict[str, Any]]:
    """For each site (and category) the mean difference of the effects of the same query and document in two
    variants (append less prepend), with its interval over queries and p, Holm-corrected over the sites."""
    import pandas as pd

    keys = ["qid", "docid", "site"]
    both = pd.merge(one, other, on=keys, suffixes=("", "_other"))
    both = both.assign(difference=both["effect"] - both["effect_other"])
    found, chances = [], []
    for site, rows in both.groupby("site", sort=False):
        values = rows["difference"].to_numpy(dtype=float)
        (interval,) = clustered_intervals(values[:, None], rows["qid"].tolist())
        by_query = rows.groupby("qid")["difference"].mean().tolist()
        chances.append(paired_t_test(by_query, [0.0] * len(by_query)).p)
        found.append(
            {
                "site": str(site), "category": text_or_none(rows["category"].iloc[0]),
                "difference": float(values.mean()), "low": finite(interval.low), "high": finite(interval.high),
                "n": len(values), "queries": len(by_query),
            }
        )  # fmt: skip
    return [{**row, "p_holm": finite(p)} for row, p in zip(found, holm(chances), strict=True)]


def violating_against_adhering(frame: pd.DataFrame, *, seed: int = 0) -> list[dict[str, Any]]:
    """For each site its mean effect in pairs that violate the axiom (the perturbed side does not score higher) and
    in those that adhere, and the difference, all with intervals over queries."""
    import numpy as np
    import pandas as pd

    violates = (frame["perturbed"] <= frame["base"]).to_numpy()
    effect = frame["effect"].to_numpy(dtype=float)
    row, queries = pd.factorize(clusters(frame))
    column, sites = pd.factorize(frame["site"])
    shape = (len(queries), len(sites))
    summed = partial(cluster_sums, clusters=row, columns=column, shape=shape)
    parts = {
        name: (summed(np.where(chosen, effect, 0.0)), summed(chosen.astype(float)))
        for name, chosen in (("violating", violates), ("adhering", ~violates))
    }
    weights = cluster_weights(len(queries), DRAWS, seed) if len(queries) > 1 else None
    with np.errstate(divide="ignore", invalid="ignore"):
        points = {name: above.sum(0) / below.sum(0) for name, (above, below) in parts.items()}
        drawn = {
            name: np.full((1, shape[1]), math.nan) if weights is None else (weights @ above) / (weights @ below)
            for name, (above, below) in parts.items()
        }
    points["difference"] = points["violating"] - points["adhering"]
    drawn["difference"] = drawn["violating"] - drawn["adhering"]
    return [
        {
            "site": str(site),
            **{f"n_{name}": int(parts[name][1][:, i].sum()) for name in parts},
            **{
                name: {"value": finite(float(points[name][i])), **interval_json(middle(drawn[name][:, i]))}
                for name in points
            },
        }
        for i, site in enumerate(sites)
    ]
