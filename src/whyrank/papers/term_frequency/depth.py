"""Where along the depth of a model its heads carry the term: comparable between models of other sizes.

Only heads that are significant after Holm's correction count: the noise of all others, summed up, would make every
profile even. Intervals are from a bootstrap over queries, the heads held fixed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from whyrank.evaluation.bootstrap import resample
from whyrank.evaluation.estimate import is_significant
from whyrank.evaluation.interval import NOT_DEFINED, Interval
from whyrank.interventions.statistics import SiteTable, finite

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

#: Parts of the depth, and draws of queries.
DEPTHS, DRAWS = 6, 400


def relative_depth(layer: int, layers: int) -> float:
    """0 for the first layer, 1 for the last."""
    return layer / (layers - 1) if layers > 1 else 0.0


def depth_part(layer: int, layers: int, parts: int = DEPTHS) -> int:
    """Which part of the depth a layer is in."""
    return min(parts - 1, int(relative_depth(layer, layers) * parts))


def over_depth(
    frame: pd.DataFrame, sites: Sequence[dict[str, Any]], layers: int, *, parts: int = DEPTHS, seed: int = 0
) -> dict[str, Any]:
    """The part of all significant |shares| in each part of the depth and their mean depth, with intervals; `draws`
    [draws][parts] are the same in each draw, of so many `queries`."""
    import numpy as np

    sure = {s["site"]: s["layer"] for s in sites if is_significant(s["p_holm"]) and s["share"] is not None}
    if not sure:
        nothing = {"value": None, **Interval.none(NOT_DEFINED).to_json()}
        return {"significant": 0, "profile": [], "mean": nothing, "draws": [], "queries": 0}
    rows = frame[frame["site"].isin(list(sure))]
    table = SiteTable.of(rows)
    depth = np.array([relative_depth(sure[site], layers) for site in table.sites])
    place = np.array([depth_part(sure[site], layers, parts) for site in table.sites])
    shares = resample(table.shares, len(table.queries), present=table.present, draws=DRAWS, seed=seed)
    profile = shares.map(lambda rows: _profile(np.abs(rows), place, parts))
    mean = shares.map(lambda rows: ((np.abs(rows) @ depth) / np.abs(rows).sum(axis=1))[:, None])
    return {
        "significant": len(sure),
        "profile": [
            {"value": finite(float(value)), **interval.within(0, 1).to_json()}
            for value, interval in zip(profile.value, profile.intervals(), strict=True)
        ],
        "mean": {"value": finite(float(mean.value[0])), **mean.interval().within(0, 1).to_json()},
        "draws": np.round(profile.drawn[np.isfinite(profile.drawn).all(axis=1)], 4).tolist(),
        "queries": int(table.present.min()),
    }


def _profile(shares: np.ndarray, place: np.ndarray, parts: int) -> np.ndarray:
    """[draws, heads] -> [draws, parts], each row summing to 1."""
    import numpy as np

    total = shares.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.stack([shares[:, place == part].sum(axis=1) for part in range(parts)], axis=1) / total
