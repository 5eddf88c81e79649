"""Differences between groups of the same effects: append less prepend or null, violating less adhering."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from whyrank.evaluation.bootstrap import Resampled, cluster_sums, resample, stretch
from whyrank.evaluation.estimate import Estimate, finite, p_over_queries
from whyrank.evaluation.interval import FEWEST_QUERIES
from whyrank.evaluation.significance import holm
from whyrank.interventions.statistics import beyond_rounding, clusters, int_or_none, text_or_none
from whyrank.papers.term_frequency.parts import GroupContrast, PairedDifference

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

#: Sums by query and site [queries, sites], by what is summed.
Sums = Mapping[str, "np.ndarray"]


def paired_difference(one: pd.DataFrame, other: pd.DataFrame) -> tuple[PairedDifference, ...]:
    """For each site (and category) the mean difference of the effects of the same query and document in two
    variants (append less prepend), with its interval over queries and p, Holm-corrected over the sites."""
    import pandas as pd

    both = pd.merge(one, other, on=["qid", "docid", "site"], suffixes=("", "_other"))
    both = both.assign(difference=both["effect"] - both["effect_other"])
    groups = [rows for _, rows in both.groupby("site", sort=False)]
    p_values = holm([p_over_queries(rows.groupby("qid")["difference"].mean().tolist()) for rows in groups])
    return tuple(_difference(rows, finite(p)) for rows, p in zip(groups, p_values, strict=True))


def _difference(rows: pd.DataFrame, p: float | None) -> PairedDifference:
    """Of the rows of one site."""
    first = rows.iloc[0]
    return PairedDifference(
        site=str(first["site"]),
        layer=int_or_none(first["layer"]),
        head=int_or_none(first["head"]),
        category=text_or_none(first["category"]),
        one=float(rows["effect"].mean()),
        other=float(rows["effect_other"].mean()),
        difference=Estimate.mean(rows["difference"].to_numpy(dtype=float), rows["qid"].tolist()),
        p_holm=p,
    )


def against(one: pd.DataFrame, other: pd.DataFrame) -> tuple[PairedDifference, ...]:
    """The effects of a variant and of its control on the same documents, as shares of the variant's mean gap."""
    pairs = one.drop_duplicates("pair").merge(other.drop_duplicates("pair")[["qid", "docid"]], on=["qid", "docid"])
    size = float((pairs["perturbed"].abs() + pairs["base"].abs()).sum())
    gap = float(beyond_rounding((pairs["perturbed"] - pairs["base"]).sum(), size)) / max(1, len(pairs))
    if math.isnan(gap):
        return ()
    return tuple(_by_gap(difference, gap) for difference in paired_difference(one, other))


def _by_gap(one: PairedDifference, gap: float) -> PairedDifference:
    found = one.difference
    scaled = Estimate.of((found.value or 0.0) / gap, found.interval.scaled(1 / gap), found.pairs, found.queries)
    return replace(one, one=one.one / gap, other=one.other / gap, difference=scaled)


def violating_against_adhering(frame: pd.DataFrame, *, seed: int = 0) -> tuple[GroupContrast, ...]:
    """For each site its mean effect in pairs that violate the axiom (the perturbed side does not score higher) and
    in those that adhere, and the difference, all with intervals over queries.

    The pairs are split by their gap, so that mean effects differ by construction; whether a head takes another
    part in the gap of either is seen in the shares (ratios of sums), with p from the bootstrap, Holm-corrected;
    there is none where fewer than 6 queries have pairs of both groups.
    """
    sites, groups = _groups(frame)
    means = _with_difference(groups, _means, seed)
    shares = _with_difference(groups, _shares, seed)
    p_values = holm(_p_values(shares["difference"]))
    counts = {name: sums["count"].sum(axis=0).astype(int) for name, sums in groups.items()}
    counts["difference"] = sum(counts.values())
    by_name = {name: _estimates(means[name], counts[name]) for name in means}
    of_gap = {f"share_{name}": _estimates(shares[name], counts[name]) for name in shares}
    every = by_name | of_gap
    return tuple(
        GroupContrast(site=site, **{name: column[i] for name, column in every.items()}, p_holm=finite(p_values[i]))
        for i, site in enumerate(sites)
    )


def _groups(frame: pd.DataFrame) -> tuple[list[str], dict[str, Sums]]:
    """The sites, and the sums of violating and of adhering pairs."""
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
    return [str(site) for site in sites], {
        name: {key: summed(np.where(some, values, 0.0)) for key, values in columns.items()}
        for name, some in (("violating", violates), ("adhering", ~violates))
    }


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


def _estimates(again: Resampled, counts: np.ndarray) -> list[Estimate]:
    rows = zip(again.value, again.intervals(), counts, again.clusters, strict=True)
    return [Estimate.of(float(value), interval, int(n), int(g)) for value, interval, n, g in rows]


def _p_values(again: Resampled) -> list[float]:
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
