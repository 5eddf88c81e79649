"""Several rankers side by side: which heads carry term frequency in each, at which relative depth, how alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from whyrank.evaluation.interval import NOT_DEFINED, Interval
from whyrank.evaluation.map_correlation import map_correlation, map_interval
from whyrank.interventions.statistics import finite
from whyrank.papers.term_frequency.depth import relative_depth

#: Heads that are named.
CARRYING = 5


def atlas(rankers: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """From each ranker's results: its carrying heads with their relative depth, and whether they are about the
    term; the profile of its effects over depth; what it found beside the paper; and for each two rankers how alike
    these profiles are, whole maps only where both have the same shape."""
    names = list(rankers)
    return {
        "rankers": [{"ranker": name, **_page(rankers[name])} for name in names],
        "alike": [
            {"of": one, "with": other, **_alike(rankers[one], rankers[other])}
            for i, one in enumerate(names)
            for other in names[i + 1 :]
        ],
    }


def _page(told: dict[str, Any]) -> dict[str, Any]:
    layers, heads = told["layers"], [site for site in told["heads"] if site["share"] is not None]
    largest = sorted(heads, key=lambda site: -abs(site["share"]))[:CARRYING]
    null = {row["site"]: row for row in told["against_append"].get("null", [])}
    return {
        "layers": layers,
        "pairs": max((site["n"] for site in heads), default=0),
        "carrying": [
            {"head": f"{site['layer']}.{site['head']}", "share": site["share"], **site["share_interval"],
             "depth": relative_depth(site["layer"], layers), "p_holm": site["p_holm"],
             "beyond_null": _beyond(null.get(site["site"]))}
            for site in largest
        ],
        "significant": told["depth"]["significant"],
        "profile": told["depth"]["profile"],
        "depth": told["depth"]["mean"],
        "findings": told.get("findings", []),
    }  # fmt: skip


def _beyond(row: dict[str, Any] | None) -> bool | None:
    """Whether a head surely does something else for the term than for a word of another query in its place."""
    interval = None if row is None else Interval.from_json(row)
    return interval.leaves_out_zero if interval else None


def _alike(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """r of the profiles over depth, with an interval (the draws of both are independent), and of the maps."""
    import numpy as np

    depths = [one["depth"], other["depth"]]
    profiles = [np.array([part["value"] for part in depth["profile"]], dtype=float) for depth in depths]
    told: dict[str, Any] = {
        "profile": None, "profile_interval": Interval.none(NOT_DEFINED).to_json(), "map": None,
    }  # fmt: skip
    if all(map(len, profiles)):
        draws = min(len(depth["draws"]) for depth in depths)
        drawn = [np.array(depth["draws"][:draws]).reshape(draws, len(profiles[0])) for depth in depths]
        interval = map_interval(profiles, drawn, min(depth["queries"] for depth in depths))
        told |= {"profile": finite(map_correlation(*profiles)), "profile_interval": interval.to_json()}
    maps = [_map(told_of) for told_of in (one, other)]
    if one["layers"] == other["layers"] and maps[0].keys() == maps[1].keys():
        told["map"] = finite(map_correlation(list(maps[0].values()), [maps[1][head] for head in maps[0]]))
    return told


def _map(told: dict[str, Any]) -> dict[tuple[int, int], float]:
    return {(site["layer"], site["head"]): site["share"] for site in told["heads"] if site["share"] is not None}
