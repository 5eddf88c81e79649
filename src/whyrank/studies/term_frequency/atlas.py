"""Several rankers side by side: which heads carry term frequency in each, at which relative depth, how alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from whyrank.interventions.statistics import finite, pearson

#: Heads that count as carrying, and the parts of the depth that maps are compared by.
CARRYING, DEPTHS = 5, 6


def atlas(rankers: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """From each ranker's results: its carrying heads with their relative depth, the profile of its effects over
    depth, and for each two rankers how alike these profiles are; whole maps only where both have the same
    shape."""
    pages = {name: _page(told) for name, told in rankers.items()}
    names = list(pages)
    return {
        "rankers": [{"ranker": name, **pages[name]} for name in names],
        "alike": [
            {"of": one, "with": other, **_alike(pages[one], pages[other])}
            for i, one in enumerate(names)
            for other in names[i + 1 :]
        ],
    }


def _page(told: dict[str, Any]) -> dict[str, Any]:
    layers, heads = told["layers"], [site for site in told["heads"] if site["share"] is not None]
    largest = sorted(heads, key=lambda site: -abs(site["share"]))[:CARRYING]
    total = sum(abs(site["share"]) for site in heads)
    return {
        "layers": layers,
        "carrying": [
            {"head": f"{site['layer']}.{site['head']}", "share": site["share"], **site["share_interval"],
             "depth": relative_depth(site["layer"], layers), "p_holm": site["p_holm"]}
            for site in largest
        ],
        "profile": depth_profile(heads, layers),
        "mean_depth": finite(
            sum(abs(s["share"]) * relative_depth(s["layer"], layers) for s in heads) / total if total else 0.0
        ),
        "map": {f"{site['layer']}.{site['head']}": site["share"] for site in heads},
    }  # fmt: skip


def relative_depth(layer: int, layers: int) -> float:
    """0 for the first layer, 1 for the last."""
    return layer / (layers - 1) if layers > 1 else 0.0


def depth_profile(heads: Sequence[dict[str, Any]], layers: int, steps: int = DEPTHS) -> list[float]:
    """The part of all |shares| in each step of the depth: rankers of other sizes can be compared by it."""
    profile = [0.0] * steps
    for site in heads:
        place = min(steps - 1, int(relative_depth(site["layer"], layers) * steps))
        profile[place] += abs(site["share"])
    total = sum(profile)
    return [value / total if total else 0.0 for value in profile]


def _alike(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    shared = [head for head in one["map"] if head in other["map"]]
    same_shape = one["layers"] == other["layers"] and set(one["map"]) == set(other["map"])
    return {
        "profile": finite(pearson(one["profile"], other["profile"])),
        "map": finite(pearson([one["map"][h] for h in shared], [other["map"][h] for h in shared]))
        if same_shape
        else None,
    }
