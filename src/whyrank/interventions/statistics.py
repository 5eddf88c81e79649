"""From rows to what a site does: ratio of sums, mean of ratios, raw mean effect, with intervals over queries.

The share of the gap that a site recovers is by default the ratio of sums, sum(patched - base) / sum(pert - base):
a pair counts by the size of its gap. The papers' mean of ratios explodes where a gap is small; it is given with a
threshold on |pert - base| and the share of pairs that the threshold drops. For `noise`, where the perturbed run is
changed, patched - base is what is left of the gap; the change is from the score of the run that is changed, and p
is the change's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from whyrank.evaluation.bootstrap import DRAWS, Statistic, cluster_sums, cluster_weights, resample
from whyrank.evaluation.estimate import Estimate, finite, is_significant, p_over_queries
from whyrank.evaluation.interval import NOT_DEFINED, Interval
from whyrank.evaluation.map_correlation import map_correlation, map_interval
from whyrank.evaluation.significance import benjamini_hochberg, holm

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

#: Gaps below this share of the median gap are too small for a ratio of their own.
SMALL_GAP = 0.1
#: Sites whose bootstrap is held at once.
SITES_AT_ONCE = 2048
#: A gap below this part of the scores is rounding: there is nothing to take a share of.
ROUNDING = 1e-6


@dataclass(frozen=True)
class SiteSummary:
    """One site (and cut) over the pairs that have it. `share` is the share of the gap that its change makes up,
    `dropped` the share of pairs whose gap is too small for `mean_of_ratios`, p of the mean change against 0."""

    site: str
    layer: int | None
    head: int | None
    category: str | None
    n: int
    queries: int
    share: Estimate
    ratio_of_sums: Estimate
    mean_effect: Estimate
    mean_change: Estimate
    mean_of_ratios: float | None
    dropped: float
    p: float | None
    p_holm: float | None
    p_bh: float | None

    @property
    def part(self) -> str:
        """`z`, `mlp`, ...; of a set, that of its last site."""
        return self.whole.split(".")[-1]

    @property
    def whole(self) -> str:
        """The site without the tokens that it is cut to."""
        return self.site.split("@")[0]

    @property
    def is_head(self) -> bool:
        return self.layer is not None and self.head is not None

    @property
    def is_significant(self) -> bool:
        return is_significant(self.p_holm)


class Correlation(NamedTuple):
    """How alike two maps of effects are, site by site."""

    sites: int
    pearson: float
    interval: Interval
    spearman: float


def summarise_sites(
    frame: pd.DataFrame, *, min_gap: float | None = None, family: int | None = None, seed: int = 0
) -> tuple[SiteSummary, ...]:
    """One summary per site, in the order in which sites first come; p adjusted over all of them.

    `family` says how many sites were looked at before these were chosen: all of them count in the adjustment.
    """
    if frame.empty:
        return ()
    table = SiteTable.of(frame)
    estimates, ratios = table.estimates(seed), _ratios_by_site(frame, min_gap)
    p_values = [p_over_queries(one) for one in table.query_means()]
    unseen = [1.0] * ((family or len(p_values)) - len(p_values))
    adjusted = zip(holm([*p_values, *unseen]), benjamini_hochberg([*p_values, *unseen]), strict=True)
    groups = frame.groupby("site", sort=False)
    first, cuts = groups[["layer", "head", "category"]].first(), groups["category"].nunique(dropna=False)
    return tuple(
        SiteSummary(
            site=site,
            layer=int_or_none(first.at[site, "layer"]),
            head=int_or_none(first.at[site, "head"]),
            category=text_or_none(first.at[site, "category"]) if cuts[site] == 1 else None,
            n=share.pairs,
            queries=share.queries,
            share=share,
            ratio_of_sums=ratio,
            mean_effect=effect,
            mean_change=change,
            mean_of_ratios=finite(mean_of_ratios),
            dropped=float(dropped),
            p=finite(p),
            p_holm=finite(p_holm),
            p_bh=finite(p_bh),
        )
        for site, (share, ratio, effect, change), (mean_of_ratios, dropped), p, (p_holm, p_bh) in zip(
            table.sites, zip(*estimates, strict=True), ratios, p_values, adjusted, strict=False
        )
    )


def _ratios_by_site(frame: pd.DataFrame, min_gap: float | None) -> list[tuple[float, float]]:
    """For each site the mean of the pairs' own ratios, NaN where there is none, and the share of pairs dropped
    because their gap is too small for one."""
    gap = frame["perturbed"] - frame["base"]
    least = SMALL_GAP * float(gap.abs().median()) if min_gap is None else min_gap
    rounding = ROUNDING * (frame["perturbed"].abs() + frame["base"].abs())
    large = (gap.abs() >= least) & (gap.abs() > rounding)
    sites = frame.assign(ratio=(frame["effect"] / gap).where(large), large=large).groupby("site", sort=False)
    means, kept = sites["ratio"].mean(), sites["large"].mean()
    return [
        (math.nan if share == 0 else float(mean), 1 - float(share))
        for mean, share in zip(means, kept, strict=True)
    ]


@dataclass(frozen=True)
class SiteTable:
    """Sums over the rows of each query (rows of the arrays) and site (columns); 0 where a query lacks a site.
    `size` is that of the scores, by which a gap is distinguished from rounding."""

    sites: list[str]
    queries: list[str]
    effect: np.ndarray
    gap: np.ndarray
    change: np.ndarray
    count: np.ndarray
    size: np.ndarray
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
            summed(frame["perturbed"].abs() + frame["base"].abs()),
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

    def estimates(self, seed: int = 0) -> list[list[Estimate]]:
        """Each site's share, ratio of sums, mean effect and mean change."""
        intervals, pairs = self.intervals(seed), self.count.sum(axis=0)
        values = {
            "share": self.shares(), "ratio": self.ratios(), "effect": self.effect.sum(axis=0) / pairs,
            "change": self.change.sum(axis=0) / pairs,
        }  # fmt: skip
        return [
            [
                Estimate.of(*one)
                for one in zip(values[name], ends, map(int, pairs), map(int, self.present), strict=True)
            ]
            for name, ends in intervals.items()
        ]

    def intervals(self, seed: int = 0, draws: int = DRAWS) -> dict[str, list[Interval]]:
        """Intervals of each site's share, ratio of sums, mean effect and mean change over the queries that have
        it."""
        found: dict[str, list[Interval]] = {"share": [], "ratio": [], "effect": [], "change": []}
        for start in range(0, len(self.sites), SITES_AT_ONCE):
            some = self._part(slice(start, start + SITES_AT_ONCE))
            statistics: dict[str, Statistic] = {
                "share": some.shares,
                "ratio": some.ratios,
                "effect": partial(some._ratio, some.effect, some.count),
                "change": partial(some._ratio, some.change, some.count),
            }
            for name, statistic in statistics.items():
                again = resample(statistic, len(self.queries), present=some.present, draws=draws, seed=seed)
                found[name] += again.intervals()
        return found

    @property
    def present(self) -> np.ndarray:
        """How many queries have each site."""
        return (self.count > 0).sum(axis=0)

    def _part(self, some: slice) -> SiteTable:
        """Some of the sites."""
        arrays = {name: getattr(self, name)[:, some] for name in ("effect", "gap", "change", "count", "size")}
        return replace(self, sites=self.sites[some], **arrays)

    def shares(self, weights: np.ndarray | None = None) -> np.ndarray:
        """The share of the gap that each site's change makes up (or, for noise, takes away): [sites], or for each
        draw of queries [draws, sites]; NaN where there is no gap but rounding."""
        return self._of_gap(self.sign * self.change, weights)

    def ratios(self, weights: np.ndarray | None = None) -> np.ndarray:
        """The ratio of sums, sum(patched - base) / sum(perturbed - base)."""
        return self._of_gap(self.effect, weights)

    def map(self, weights: np.ndarray | None = None) -> np.ndarray:
        """What maps are compared by: changes by the size of the gap, so that a draw whose gaps cancel to the other
        side does not turn the map round; for ablations, which have no gap to close, mean changes."""
        import numpy as np

        if self.ablation:
            return self._ratio(self.change, self.count, weights)
        weights = np.ones(len(self.queries)) if weights is None else weights
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.sign * (weights @ self.change) / np.abs(self._gap(weights))

    def _of_gap(self, above: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        import numpy as np

        weights = np.ones(len(self.queries)) if weights is None else weights
        with np.errstate(divide="ignore", invalid="ignore"):
            return (weights @ above) / self._gap(weights)

    def _gap(self, weights: np.ndarray) -> np.ndarray:
        return beyond_rounding(weights @ self.gap, weights @ self.size)

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
    r, interval = map_correlation(*maps), Interval.none(NOT_DEFINED)
    if math.isfinite(r):
        weights, where = cluster_weights(len(names), draws, seed), {name: i for i, name in enumerate(names)}
        drawn = [
            table.map(weights[:, [where[name] for name in table.queries]])[:, place]
            for table, place in zip(tables, places, strict=True)
        ]
        interval = map_interval(maps, drawn, min(len(table.queries) for table in tables))
    correlation = Correlation(len(shared), r, interval, map_correlation(*_ranks(*maps)))
    return correlation, [(site, float(a), float(b)) for site, a, b in zip(shared, *maps, strict=True)]


def beyond_rounding(gap: np.ndarray | float, size: np.ndarray | float) -> np.ndarray:
    """Gaps of scores of this size; NaN where there is none but rounding, so that nothing has a share of it."""
    import numpy as np

    return np.where(np.abs(gap) > ROUNDING * size, gap, math.nan)


def change_of(frame: pd.DataFrame) -> pd.Series:
    """How far each row's score is from that of the run that was changed: the baseline, or for noise the other."""
    denoise = frame["direction"].fillna("denoise") == "denoise"
    return frame["patched"] - frame["base"].where(denoise, frame["perturbed"])


def clusters(rows: pd.DataFrame) -> pd.Series:
    """Queries; a pair that names none is its own cluster."""
    return rows["qid"].fillna(rows["pair"])


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
