"""Where along the depth of a model its heads carry the term: comparable between models of other sizes.

Only heads that are significant after Holm's correction count: the noise of all others, summed up, would make every
profile even. Intervals are from a bootstrap over queries, the heads held fixed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from whyrank.evaluation.bootstrap import cluster_weights, middle
from whyrank.interventions.statistics import SiteTable, finite, interval_json
from whyrank.studies.term_frequency.leading import SIGNIFICANT

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
    [draws][parts] are the same in each draw."""
    import numpy as np

    sure = {s["site"]: s["layer"] for s in sites if s["p_holm"] is not None and s["p_holm"] < SIGNIFICANT}
    if not sure:
        return {"significant": 0, "profile": [], "mean": {"value": None, "low": None, "high": None}, "draws": []}
    rows = frame[frame["site"].isin(list(sure))]
    table = SiteTable.of(rows)
    depth = np.array([relative_depth(sure[site], layers) for site in table.sites])
    place = np.array([depth_part(sure[site], layers, parts) for site in table.sites])
    queries = len(table.queries)
    weights = cluster_weights(queries, DRAWS, seed) if queries > 1 else np.zeros((0, queries))
    points, drawn = np.abs(table.shares())[None], np.abs(table.shares(weights))
    profile, draws = (_profile(shares, place, parts) for shares in (points, drawn))
    means = [(shares @ depth) / shares.sum(axis=1) for shares in (points, drawn)]
    return {
        "significant": len(sure),
        "profile": [{"value": float(profile[0, i]), **interval_json(middle(draws[:, i]))} for i in range(parts)],
        "mean": {"value": finite(float(means[0][0])), **interval_json(middle(means[1]))},
        "draws": np.round(draws[np.isfinite(draws).all(axis=1)], 4).tolist(),
    }


def _profile(shares: np.ndarray, place: np.ndarray, parts: int) -> np.ndarray:
    """[draws, heads] -> [draws, parts], each row summing to 1."""
    import numpy as np

    total = shares.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.stack([shares[:, place == part].sum(axis=1) for part in range(parts)], axis=1) / total
