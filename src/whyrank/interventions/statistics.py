"""From rows to what a site does: ratio of sums, mean of ratios, raw mean effect, with intervals over queries.

The share of the gap that a site recovers is by default the ratio of sums, sum(patched - base) / sum(pert - base):
a pair counts by the size of its gap. The papers' mean of ratios explodes where a gap is small; it is given with a
threshold on |pert - base| and the share of pairs that the threshold drops. For `noise`, where the perturbed run is
changed, patched - base is what is left of the gap; the change is from the score of the run that is changed, and p
is the change's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, NamedTuple

from whyrank.evaluation.bootstrap import DRAWS, Interval, cluster_sums, cluster_weights
from whyrank.evaluation.correlation import interval_around
from whyrank.evaluation.significance import benjamini_hochberg, holm, paired_t_test

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

#: Gaps below this share of the median gap are too small for a ratio of their own.
SMALL_GAP = 0.1
#: Sites whose bootstrap is held at once.
SITES_AT_ONCE = 2048
LEVEL = 0.95


@dataclass(frozen=True)
class SiteSummary:
    """One site (and cut) over the pairs that have it."""

    site: str
    layer: int | None
    head: int | None
    category: str | None
    n: int
    queries: int
    share: float
    share_interval: Interval
    ratio_of_sums: float
    interval: Interval
    mean_effect: float
    mean_interval: Interval
    mean_change: float
    change_interval: Interval
    mean_of_ratios: float | None
    dropped_by_threshold: float
    p: float
    p_holm: float
    p_bh: float

    def to_json(self) -> dict[str, Any]:
        told = {field.name: getattr(self, field.name) for field in fields(self)}
        for name in ("share_interval", "interval", "mean_interval", "change_interval"):
            told[name] = interval_json(told[name])
        return {key: finite(value) if isinstance(value, float) else value for key, value in told.items()}


class Correlation(NamedTuple):
    """How alike two maps of effects are, site by site."""

    sites: int
    pearson: float
    interval: Interval
    spearman: float

    def to_json(self) -> dict[str, Any]:
        return {
            "sites": self.sites, "pearson": finite(self.pearson), "interval": interval_json(self.interval),
            "spearman": finite(self.spearman),
        }  # fmt: skip


def finite(value: float) -> float | None:
    """JSON has no NaN and no infinity."""
    return value if math.isfinite(value) else None


def interval_json(interval: Interval) -> dict[str, float | None]:
    """Its ends, null where it has none."""
    return {"low": finite(interval.low), "high": finite(interval.high)}


def summarise_sites(
    frame: pd.DataFrame, *, threshold: float | None = None, family: int | None = None, seed: int = 0
) -> list[SiteSummary]:
    """One summary a site, in the order in which sites first come; p adjusted over all of them.

    `family` says how many sites were looked at before these were chosen: all of them count in the adjustment.
    """
    if frame.empty:
        return []
    gap = frame["perturbed"] - frame["base"]
    least = SMALL_GAP * float(gap.abs().median()) if threshold is None else threshold
    table = SiteTable.of(frame)
    intervals = table.intervals(seed)
    changes, shares = table.change.sum(axis=0) / table.count.sum(axis=0), table.shares()
    p_values = [paired_t_test(one, [0.0] * len(one)).p for one in table.query_means()]
    unseen = [1.0] * ((family or len(p_values)) - len(p_values))
    adjusted = zip(holm([*p_values, *unseen]), benjamini_hochberg([*p_values, *unseen]), strict=True)
    found = []
    groups = frame.groupby("site", sort=False)
    for i, ((site, rows), p, (p_holm, p_bh)) in enumerate(zip(groups, p_values, adjusted, strict=False)):
        gaps, effects = rows["perturbed"] - rows["base"], rows["effect"]
        large = (gaps.abs() >= least) & (gaps != 0)
        first = rows.iloc[0]
        found.append(
            SiteSummary(
                site=str(site),
                layer=int_or_none(first["layer"]),
                head=int_or_none(first["head"]),
                category=text_or_none(first["category"]) if rows["category"].nunique(dropna=False) == 1 else None,
                n=len(rows),
                queries=int(clusters(rows).nunique()),
                ratio_of_sums=float(effects.sum() / gaps.sum()) if gaps.sum() else math.nan,
                share=float(shares[i]),
                share_interval=intervals["share"][i],
                interval=intervals["ratio"][i],
                mean_effect=float(effects.mean()),
                mean_interval=intervals["effect"][i],
                mean_change=float(changes[i]),
                change_interval=intervals["change"][i],
                mean_of_ratios=float((effects[large] / gaps[large]).mean()) if large.any() else None,
                dropped_by_threshold=float(1 - large.mean()),
                p=p,
                p_holm=p_holm,
                p_bh=p_bh,
            )
        )
    return found


@dataclass(frozen=True)
class SiteTable:
    """Sums over the rows of each query (rows of the arrays) and site (columns); 0 where a query lacks a site."""

    sites: list[str]
    queries: list[str]
    effect: np.ndarray
    gap: np.ndarray
    change: np.ndarray
    count: np.ndarray
    sign: float
    ablation: bool

    @classmethod
    def of(cls, frame: pd.DataFrame) -> SiteTable:
        import pandas as pd

        row, queries = pd.factorize(clusters(frame))
        column, sites = pd.factorize(frame["site"])
        shape = (len(queries), len(sites))

        def summed(values: pd.Series) -> np.ndarray:
            return cluster_sums(values.to_numpy(dtype=float), row, column, shape)

        return cls(
            [str(site) for site in sites],
            [str(query) for query in queries],
            summed(frame["effect"]),
            summed(frame["perturbed"] - frame["base"]),
            summed(change_of(frame)),
            summed(pd.Series(1.0, index=frame.index)),
            -1.0 if (frame["direction"] == "noise").any() else 1.0,
            bool((frame["method"] == "ablation").any()),
        )

    def query_means(self) -> list[list[float]]:
        """For each site the mean change of each query that has it."""
        found = []
        for column in range(len(self.sites)):
            has = self.count[:, column] > 0
            found.append((self.change[has, column] / self.count[has, column]).tolist())
        return found

    def intervals(self, seed: int = 0, draws: int = DRAWS) -> dict[str, list[Interval]]:
        """Percentile intervals of each site's share, ratio of sums, mean effect and mean change, whole queries
        drawn with replacement; NaN where one query is all that has the site."""
        import numpy as np

        found: dict[str, list[Interval]] = {"share": [], "ratio": [], "effect": [], "change": []}
        if len(self.queries) < 2:
            return {name: [Interval(math.nan, math.nan)] * len(self.sites) for name in found}
        weights = cluster_weights(len(self.queries), draws, seed)
        for start in range(0, len(self.sites), SITES_AT_ONCE):
            part = slice(start, start + SITES_AT_ONCE)
            effect, gap, change, count = (
                weights @ values[:, part] for values in (self.effect, self.gap, self.change, self.count)
            )
            with np.errstate(divide="ignore", invalid="ignore"):
                found["share"] += _percentiles(self.sign * change / gap)
                found["ratio"] += _percentiles(effect / gap)
                found["effect"] += _percentiles(effect / count)
                found["change"] += _percentiles(change / count)
        alone = ((self.count > 0).sum(axis=0) < 2).tolist()
        nothing = Interval(math.nan, math.nan)
        return {
            name: [nothing if one else interval for one, interval in zip(alone, intervals, strict=True)]
            for name, intervals in found.items()
        }

    def shares(self, weights: np.ndarray | None = None) -> np.ndarray:
        """The share of the gap that each site's change makes up (or, for noise, takes away): [sites], or for each
        draw of queries [draws, sites]."""
        return self._ratio(self.sign * self.change, self.gap, weights)

    def map(self, weights: np.ndarray | None = None) -> np.ndarray:
        """What maps are compared by: changes by the size of the gap, so that a draw whose gaps cancel to the other
        side does not turn the map round; for ablations, which have no gap to close, mean changes."""
        import numpy as np

        if self.ablation:
            return self._ratio(self.change, self.count, weights)
        weights = np.ones(len(self.queries)) if weights is None else weights
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.sign * (weights @ self.change) / np.abs(weights @ self.gap)

    def _ratio(self, above: np.ndarray, below: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        import numpy as np

        weights = np.ones(len(self.queries)) if weights is None else weights
        with np.errstate(divide="ignore", invalid="ignore"):
            return (weights @ above) / (weights @ below)


def compare_maps(
    one: pd.DataFrame, other: pd.DataFrame, *, draws: int = DRAWS, seed: int = 0
) -> tuple[Correlation, list[tuple[str, float, float]]]:
    """The correlation of two sets of rows' maps over the sites both have, and the maps.

    The interval redraws queries; where both sets have a query, it is drawn for both.
    """

    tables = [SiteTable.of(frame) for frame in (one, other)]
    known = [{site: i for i, site in enumerate(table.sites)} for table in tables]
    shared = [site for site in tables[0].sites if site in known[1]]
    places = [[places[site] for site in shared] for places in known]
    maps = [table.map()[place] for table, place in zip(tables, places, strict=True)]
    names = list(dict.fromkeys([*tables[0].queries, *tables[1].queries]))
    r, interval = pearson(*maps), Interval(math.nan, math.nan)
    if len(names) > 1 and len(shared) > 2:
        weights, where = cluster_weights(len(names), draws, seed), {name: i for i, name in enumerate(names)}
        drawn = [
            table.map(weights[:, [where[name] for name in table.queries]])[:, place]
            for table, place in zip(tables, places, strict=True)
        ]
        interval = interval_around(r, _row_correlations(*drawn))
    correlation = Correlation(len(shared), r, interval, pearson(*_ranks(*maps)))
    return correlation, [(site, float(a), float(b)) for site, a, b in zip(shared, *maps, strict=True)]


def pearson(a: Sequence[float] | np.ndarray, b: Sequence[float] | np.ndarray) -> float:
    """Pearson's r over the places where both are finite; NaN if there are fewer than three, or no spread."""
    import numpy as np

    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    both = np.isfinite(a) & np.isfinite(b)
    if both.sum() < 3 or a[both].std() == 0 or b[both].std() == 0:
        return math.nan
    return float(np.corrcoef(a[both], b[both])[0, 1])


def change_of(frame: pd.DataFrame) -> pd.Series:
    """How far each row's score is from that of the run that was changed: the baseline, or for noise the other."""
    denoise = frame["direction"].fillna("denoise") == "denoise"
    return frame["patched"] - frame["base"].where(denoise, frame["perturbed"])


def clusters(rows: pd.DataFrame) -> pd.Series:
    """Queries; a pair that names none is its own cluster."""
    return rows["qid"].fillna(rows["pair"])


def _row_correlations(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    import numpy as np

    both = np.isfinite(a) & np.isfinite(b)
    a, b = (np.where(both, x, 0.0) for x in (a, b))
    with np.errstate(divide="ignore", invalid="ignore"):
        count = both.sum(axis=1, keepdims=True)
        a, b = (np.where(both, x - x.sum(axis=1, keepdims=True) / count, 0.0) for x in (a, b))
        return (a * b).sum(axis=1) / np.sqrt((a**2).sum(axis=1) * (b**2).sum(axis=1))


def _percentiles(draws: np.ndarray) -> list[Interval]:
    """The middle of the finite draws of each column."""
    import numpy as np

    ends = [(1 - LEVEL) / 2, (1 + LEVEL) / 2]
    if np.isfinite(draws).all():
        low, high = np.quantile(draws, ends, axis=0)
        return [Interval(float(a), float(b)) for a, b in zip(low, high, strict=True)]
    found = []
    for column in draws.T:
        some = column[np.isfinite(column)]
        found.append(Interval(*map(float, np.quantile(some, ends))) if len(some) else Interval(math.nan, math.nan))
    return found


def _ranks(a: np.ndarray, b: np.ndarray) -> list[np.ndarray]:
    """Ranks over the places where both are finite."""
    import numpy as np
    from scipy.stats import rankdata

    both = np.isfinite(a) & np.isfinite(b)
    return [rankdata(values[both]) for values in (a, b)]


def int_or_none(value: Any) -> int | None:
    import pandas as pd

    return None if pd.isna(value) else int(value)


def text_or_none(value: Any) -> str | None:
    import pandas as pd

    return None if pd.isna(value) else str(value)
