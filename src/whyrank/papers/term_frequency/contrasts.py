"""Differences between groups of the same effects: append less prepend or null, violating less adhering."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from whyrank.evaluation.bootstrap import Resampled, cluster_sums, clustered_intervals, resample, stretch
from whyrank.evaluation.estimate import p_over_queries
from whyrank.evaluation.interval import FEWEST_QUERIES, Interval
from whyrank.evaluation.significance import holm
from whyrank.interventions.statistics import beyond_rounding, clusters, finite, int_or_none, text_or_none

if TYPE_CHECKING:
    import numpy as np
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
        chances.append(p_over_queries(by_query))
        first = rows.iloc[0]
        found.append(
            {
                "site": str(site), "layer": int_or_none(first["layer"]), "head": int_or_none(first["head"]),
                "category": text_or_none(first["category"]), "one": float(rows["effect"].mean()),
                "other": float(rows["effect_other"].mean()), "difference": float(values.mean()),
                **interval.to_json(), "n": len(values), "queries": len(by_query),
            }
        )  # fmt: skip
    return [{**row, "p_holm": finite(p)} for row, p in zip(found, holm(chances), strict=True)]


def against(one: pd.DataFrame, other: pd.DataFrame) -> list[dict[str, Any]]:
    """The effects of a variant and of its null on the same documents, all as parts of the variant's mean gap."""

    pairs = one.drop_duplicates("pair").merge(other.drop_duplicates("pair")[["qid", "docid"]], on=["qid", "docid"])
    size = float((pairs["perturbed"].abs() + pairs["base"].abs()).sum())
    gap = float(beyond_rounding((pairs["perturbed"] - pairs["base"]).sum(), size)) / max(1, len(pairs))
    if math.isnan(gap):
        return []
    told = []
    for row in paired_difference(one, other):
        told.append(
            {
                **{key: row[key] for key in ("site", "layer", "head", "n", "queries", "p_holm")},
                "append": row["one"] / gap, "other": row["other"] / gap, "difference": row["difference"] / gap,
                **Interval.from_json(row).scaled(1 / gap).to_json(),
            }
        )  # fmt: skip
    return told


def violating_against_adhering(frame: pd.DataFrame, *, seed: int = 0) -> list[dict[str, Any]]:
    """For each site its mean effect in pairs that violate the axiom (the perturbed side does not score higher) and
    in those that adhere, and the difference, all with intervals over queries.

    The pairs are parted by their gap, so that mean effects differ by construction; whether a head takes another
    part in the gap of either, the shares (ratios of sums) tell, with p from the bootstrap, Holm-corrected; there
    is none where fewer than 6 queries have pairs of both groups.
    """
    import numpy as np
    import pandas as pd

    violates = (frame["perturbed"] <= frame["base"]).to_numpy()
    columns = {
        "count": np.ones(len(frame)),
        "effect": frame["effect"].to_numpy(dtype=float),
        "gap": (frame["perturbed"] - frame["base"]).to_numpy(dtype=float),
        "size": (frame["perturbed"].abs() + frame["base"].abs()).to_numpy(dtype=float),
    }
    row, queries = pd.factorize(clusters(frame))
    column, sites = pd.factorize(frame["site"])
    summed = partial(cluster_sums, clusters=row, columns=column, shape=(len(queries), len(sites)))
    groups = {
        name: {key: summed(np.where(some, values, 0.0)) for key, values in columns.items()}
        for name, some in (("violating", violates), ("adhering", ~violates))
    }
    means = _with_difference(groups, _means, seed)
    shares = _with_difference(groups, _shares, seed)
    chances = holm(_chances(shares["difference"]))
    told_means, told_shares = ({name: _told(again) for name, again in found.items()} for found in (means, shares))
    return [
        {
            "site": str(site),
            **{f"n_{name}": int(sums["count"][:, i].sum()) for name, sums in groups.items()},
            **{name: rows[i] for name, rows in told_means.items()},
            **{f"share_{name}": rows[i] for name, rows in told_shares.items()},
            "p_holm": finite(chances[i]),
        }
        for i, site in enumerate(sites)
    ]


#: Sums by query and site [queries, sites], by what is summed.
Sums = Mapping[str, "np.ndarray"]


def _means(sums: Sums, weights: np.ndarray) -> np.ndarray:
    return (weights @ sums["effect"]) / (weights @ sums["count"])


def _shares(sums: Sums, weights: np.ndarray) -> np.ndarray:
    return (weights @ sums["effect"]) / beyond_rounding(weights @ sums["gap"], weights @ sums["size"])


def _with_difference(
    groups: Mapping[str, Sums], statistic: Callable[[Sums, np.ndarray], np.ndarray], seed: int
) -> dict[str, Resampled]:
    """A statistic [sites] of both groups and of their difference, drawn again with the queries. The difference
    rests on the queries of the group that has fewer."""
    import numpy as np

    one, other = groups.values()
    count = len(one["count"])
    present = {name: (sums["count"] > 0).sum(axis=0) for name, sums in groups.items()}
    found = {
        name: resample(partial(statistic, sums), count, present=present[name], seed=seed)
        for name, sums in groups.items()
    }
    found["difference"] = resample(
        lambda weights: statistic(one, weights) - statistic(other, weights),
        count,
        present=np.minimum(*present.values()),
        seed=seed,
    )
    return found


def _told(again: Resampled) -> list[dict[str, Any]]:
    rows = zip(again.value, again.intervals(), strict=True)
    return [{"value": finite(float(value)), **interval.to_json()} for value, interval in rows]


def _chances(again: Resampled) -> list[float]:
    """Two-sided, from where 0 lies among the draws, which for 6 to 15 queries are stretched as intervals are; NaN
    where there are fewer."""
    import numpy as np

    drawn = again.value + stretch(again.clusters) * (again.drawn - again.value)
    found = []
    for draws, queries in zip(drawn.T, again.clusters, strict=True):
        some = draws[np.isfinite(draws)]
        if queries < FEWEST_QUERIES or len(some) < 2:
            found.append(math.nan)
            continue
        below, above = ((1 + np.sum(side)) / (1 + len(some)) for side in (some <= 0, some >= 0))
        found.append(float(min(1.0, 2 * min(below, above))))
    return found
