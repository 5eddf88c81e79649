"""Differences between groups of the same effects: append less prepend or null, violating less adhering."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

from whyrank.evaluation.bootstrap import DRAWS, cluster_sums, cluster_weights, clustered_intervals, middle
from whyrank.evaluation.significance import holm, paired_t_test
from whyrank.interventions.statistics import clusters, finite, int_or_none, interval_json, text_or_none

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
        chances.append(paired_t_test(by_query, [0.0] * len(by_query)).p)
        first = rows.iloc[0]
        found.append(
            {
                "site": str(site), "layer": int_or_none(first["layer"]), "head": int_or_none(first["head"]),
                "category": text_or_none(first["category"]), "one": float(rows["effect"].mean()),
                "other": float(rows["effect_other"].mean()), "difference": float(values.mean()),
                **interval_json(interval), "n": len(values), "queries": len(by_query),
            }
        )  # fmt: skip
    return [{**row, "p_holm": finite(p)} for row, p in zip(found, holm(chances), strict=True)]


def against(one: pd.DataFrame, other: pd.DataFrame) -> list[dict[str, Any]]:
    """The effects of a variant and of its null on the same documents, all as parts of the variant's mean gap."""

    pairs = one.drop_duplicates("pair").merge(other.drop_duplicates("pair")[["qid", "docid"]], on=["qid", "docid"])
    gap = float((pairs["perturbed"] - pairs["base"]).mean()) if len(pairs) else 0.0
    if not gap:
        return []
    told = []
    for row in paired_difference(one, other):
        low, high = sorted(row[end] / gap if row[end] is not None else math.nan for end in ("low", "high"))
        told.append(
            {
                **{key: row[key] for key in ("site", "layer", "head", "n", "queries", "p_holm")},
                "append": row["one"] / gap, "other": row["other"] / gap, "difference": row["difference"] / gap,
                "low": finite(low), "high": finite(high),
            }
        )  # fmt: skip
    return told


def violating_against_adhering(frame: pd.DataFrame, *, seed: int = 0) -> list[dict[str, Any]]:
    """For each site its mean effect in pairs that violate the axiom (the perturbed side does not score higher) and
    in those that adhere, and the difference, all with intervals over queries.

    The pairs are parted by their gap, so that mean effects differ by construction; whether a head takes another
    part in the gap of either, the shares (ratios of sums) tell, with p from the bootstrap, Holm-corrected.
    """
    import numpy as np
    import pandas as pd

    violates = (frame["perturbed"] <= frame["base"]).to_numpy()
    effect = frame["effect"].to_numpy(dtype=float)
    gap = (frame["perturbed"] - frame["base"]).to_numpy(dtype=float)
    row, queries = pd.factorize(clusters(frame))
    column, sites = pd.factorize(frame["site"])
    summed = partial(cluster_sums, clusters=row, columns=column, shape=(len(queries), len(sites)))
    groups = {"violating": violates, "adhering": ~violates}
    count = {name: summed(some.astype(float)) for name, some in groups.items()}
    above = {name: summed(np.where(some, effect, 0.0)) for name, some in groups.items()}
    gaps = {name: summed(np.where(some, gap, 0.0)) for name, some in groups.items()}
    weights = cluster_weights(len(queries), DRAWS, seed) if len(queries) > 1 else np.zeros((0, len(queries)))
    means, shares = _difference(above, count, weights), _difference(above, gaps, weights)
    chances = holm([_chance(draws) for draws in shares["difference"][1].T])
    return [
        {
            "site": str(site),
            **{f"n_{name}": int(count[name][:, i].sum()) for name in groups},
            **{name: _told(*both, i) for name, both in means.items()},
            **{f"share_{name}": _told(*both, i) for name, both in shares.items()},
            "p_holm": finite(chances[i]),
        }
        for i, site in enumerate(sites)
    ]


def _difference(
    above: dict[str, np.ndarray], below: dict[str, np.ndarray], weights: np.ndarray
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Ratios of sums of both groups and their difference: over all queries [sites], and in each draw."""
    import numpy as np

    found = {}
    with np.errstate(divide="ignore", invalid="ignore"):
        for name, sums in above.items():
            found[name] = (sums.sum(0) / below[name].sum(0), (weights @ sums) / (weights @ below[name]))
    one, other = found.values()
    found["difference"] = (one[0] - other[0], one[1] - other[1])
    return found


def _told(points: np.ndarray, drawn: np.ndarray, i: int) -> dict[str, Any]:
    return {"value": finite(float(points[i])), **interval_json(middle(drawn[:, i]))}


def _chance(draws: np.ndarray) -> float:
    """Two-sided, from where 0 lies among the draws; 1 where there are too few."""
    import numpy as np

    some = draws[np.isfinite(draws)]
    if len(some) < 2:
        return 1.0
    below = (1 + np.sum(some <= 0)) / (1 + len(some))
    above = (1 + np.sum(some >= 0)) / (1 + len(some))
    return float(min(1.0, 2 * min(below, above)))
