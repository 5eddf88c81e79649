"""Where along the depth of a model its heads carry the term: comparable between models of other sizes.

Only heads that are significant after Holm's correction count: the noise of all others, summed up, would make every
profile even. Intervals are from a bootstrap over queries, the heads held fixed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from whyrank.evaluation.bootstrap import resample
from whyrank.evaluation.estimate import Estimate
from whyrank.interventions.statistics import SiteTable
from whyrank.papers.term_frequency.parts import Depth, SiteEffect

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
    frame: pd.DataFrame, heads: Sequence[SiteEffect], layers: int, *, parts: int = DEPTHS, seed: int = 0
) -> Depth:
    """The part of all significant |shares| in each part of the depth, and their mean depth, with intervals."""
    import numpy as np

    layer_of = {
        head.site: head.layer or 0 for head in heads if head.is_significant and head.share.value is not None
    }
    if not layer_of:
        return Depth(significant=0)
    table = SiteTable.of(frame[frame["site"].isin(list(layer_of))])
    depth = np.array([relative_depth(layer_of[site], layers) for site in table.sites])
    place = np.array([depth_part(layer_of[site], layers, parts) for site in table.sites])
    shares = resample(table.shares, len(table.queries), present=table.present, draws=DRAWS, seed=seed)
    profile = shares.map(lambda rows: _profile(np.abs(rows), place, parts))
    mean = shares.map(lambda rows: ((np.abs(rows) @ depth) / np.abs(rows).sum(axis=1))[:, None])
    size = int(table.count.sum(axis=0).max()), int(table.present.min())
    ends = (interval.within(0, 1) for interval in profile.intervals())
    drawn = np.round(profile.drawn[np.isfinite(profile.drawn).all(axis=1)], 4)
    return Depth(
        significant=len(layer_of),
        profile=tuple(Estimate.of(float(v), e, *size) for v, e in zip(profile.value, ends, strict=True)),
        mean=Estimate.of(float(mean.value[0]), mean.interval().within(0, 1), *size),
        draws=tuple(tuple(row) for row in drawn.tolist()),
        queries=size[1],
    )


def _profile(shares: np.ndarray, place: np.ndarray, parts: int) -> np.ndarray:
    """[draws, heads] -> [draws, parts], each row summing to 1."""
    import numpy as np

    total = shares.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.stack([shares[:, place == part].sum(axis=1) for part in range(parts)], axis=1) / total
