"""From rows to what a site does: ratio of sums, mean of ratios, raw mean effect, with intervals over queries.

The share of the gap that a site recovers is by default the ratio of sums, sum(patched - base) / sum(pert - base):
a pair counts by the size of its gap. The papers' mean of ratios explodes where a gap is small; it is given with a
threshold on |pert - base| and the share of pairs that the threshold drops. For `noise`, where the perturbed run is
patched, patched - base is what is left of the gap.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from whyrank.evaluation.bootstrap import DRAWS, Interval
from whyrank.evaluation.significance import benjamini_hochberg, holm, paired_t_test
from whyrank.interventions.effects import Effects

if TYPE_CHECKING:
    import pandas as pd

#: Gaps below this share of the median gap are too small for a ratio of their own.
SMALL_GAP = 0.1


@dataclass(frozen=True)
class SiteSummary:
    """One site (and cut) over the pairs that have it."""

    site: str
    n: int
    queries: int
    ratio_of_sums: float
    interval: Interval
    mean_effect: float
    mean_of_ratios: float | None
    dropped_by_threshold: float
    p: float
    p_holm: float
    p_bh: float

    def to_json(self) -> dict[str, Any]:
        told = asdict(self)
        told["interval"] = {"low": self.interval.low, "high": self.interval.high}
        return {key: None if isinstance(value, float) and value != value else value for key, value in told.items()}


def summarise_sites(effects: Effects, *, threshold: float | None = None, seed: int = 0) -> list[SiteSummary]:
    """One summary a site, in the order in which sites first come; p adjusted over all of them."""
    frame = effects.frame
    gap = (frame["perturbed"] - frame["base"]).abs()
    least = SMALL_GAP * float(gap.median()) if threshold is None else threshold
    groups = [(str(site), rows) for site, rows in frame.groupby("site", sort=False)]
    p_values = [_p_value(rows) for _, rows in groups]
    adjusted = zip(holm(p_values), benjamini_hochberg(p_values), strict=True)
    return [
        _summary(site, rows, least, p, p_holm, p_bh, seed)
        for (site, rows), p, (p_holm, p_bh) in zip(groups, p_values, adjusted, strict=True)
    ]


def _summary(
    site: str, rows: pd.DataFrame, least: float, p: float, p_holm: float, p_bh: float, seed: int
) -> SiteSummary:
    gaps, effects = rows["perturbed"] - rows["base"], rows["effect"]
    large = gaps.abs() >= least
    ratios = (effects[large] / gaps[large]) if large.any() else None
    return SiteSummary(
        site=site,
        n=len(rows),
        queries=int(_clusters(rows).nunique()),
        ratio_of_sums=float(effects.sum() / gaps.sum()) if gaps.sum() else float("nan"),
        interval=ratio_interval(rows, seed=seed),
        mean_effect=float(effects.mean()),
        mean_of_ratios=float(ratios.mean()) if ratios is not None else None,
        dropped_by_threshold=float(1 - large.mean()),
        p=p,
        p_holm=p_holm,
        p_bh=p_bh,
    )


def ratio_interval(rows: pd.DataFrame, *, level: float = 0.95, draws: int = DRAWS, seed: int = 0) -> Interval:
    """The percentile interval of the ratio of sums, whole queries drawn with replacement."""
    import numpy as np

    numbers, _ = _factorised(rows)
    count = int(numbers.max()) + 1
    above, below = (
        np.bincount(numbers, weights=values.to_numpy(dtype=float), minlength=count)
        for values in (rows["effect"], rows["perturbed"] - rows["base"])
    )
    weights = np.random.default_rng(seed).multinomial(count, np.full(count, 1 / count), size=draws)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = (weights @ above) / (weights @ below)
    low, high = np.quantile(ratios[np.isfinite(ratios)], [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high))


def _p_value(rows: pd.DataFrame) -> float:
    """Student's t of the queries' mean effects against 0."""
    means = rows.groupby(_clusters(rows), sort=False)["effect"].mean().tolist()
    return paired_t_test(means, [0.0] * len(means)).p


def _clusters(rows: pd.DataFrame) -> pd.Series:
    """Queries; a pair that names none is its own cluster."""
    return rows["qid"].fillna(rows["pair"])


def _factorised(rows: pd.DataFrame) -> tuple[Any, Any]:
    import pandas as pd

    return pd.factorize(_clusters(rows))
