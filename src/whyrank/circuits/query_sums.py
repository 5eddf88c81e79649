"""Sums over the pairs of each query, of one set of pairs: what heads and senders are chosen and confirmed by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from whyrank.evaluation.bootstrap import cluster_sums, resample, resampled_ratio
from whyrank.evaluation.estimate import Estimate
from whyrank.interventions.statistics import beyond_rounding, clusters

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd


@dataclass(frozen=True, eq=False)
class QuerySums:
    """By query (`names` [Q]): the candidates' effects [Q, n]; the gap, what the effects are shares of (`whole`),
    the size of the scores and the number of pairs [Q each]."""

    names: tuple[str, ...]
    effect: np.ndarray
    gap: np.ndarray
    whole: np.ndarray
    size: np.ndarray
    pairs: np.ndarray

    @classmethod
    def of(cls, frame: pd.DataFrame, sites: list[str], whole: Mapping[str, float] | None = None) -> QuerySums:
        """Of the rows of a sweep, all of whose pairs have these sites; `whole` by pair, unless it is the gap."""
        import numpy as np
        import pandas as pd

        rows = frame[frame["site"].isin(sites)]
        query, names = pd.factorize(clusters(rows))
        effect = cluster_sums(
            rows["effect"].to_numpy(float), query, pd.Index(sites).get_indexer(pd.Index(rows["site"])),
            (len(names), len(sites)),
        )  # fmt: skip
        one = (rows["site"] == sites[0]).to_numpy()
        rows, query = rows[one], query[one]
        gap = (rows["perturbed"] - rows["base"]).to_numpy(float)
        wholes = gap if whole is None else np.array([whole[pair] for pair in rows["pair"]])
        size = (rows["perturbed"].abs() + rows["base"].abs()).to_numpy(float)
        columns = (np.bincount(query, some, len(names)) for some in (gap, wholes, size, np.ones(len(gap))))
        return cls(tuple(map(str, names)), effect, *columns)

    @property
    def queries(self) -> int:
        return len(self.pairs)

    @property
    def direction(self) -> float:
        """The sign of the gap."""
        return -1.0 if self.gap.sum() < 0 else 1.0

    def only(self, candidates: np.ndarray) -> QuerySums:
        """Some of the candidates."""
        return replace(self, effect=self.effect[:, candidates])

    def mean(self, sums: np.ndarray) -> Estimate:
        """The mean per pair of the gap, or of the whole."""
        found = resampled_ratio(sums[:, None], self.pairs[:, None])
        return Estimate.of(float(found.value[0]), found.interval(), int(self.pairs.sum()), self.queries)

    def shares(self, of: np.ndarray, seed: int = 0) -> list[Estimate]:
        """Each candidate's share of the gap, or of the whole: ratios of sums."""

        def ratios(weights: np.ndarray) -> np.ndarray:
            return (weights @ self.effect) / beyond_rounding(weights @ of, weights @ self.size)[:, None]

        found = resample(ratios, self.queries, seed=seed)
        count = int(self.pairs.sum())
        return [
            Estimate.of(float(value), interval, count, self.queries)
            for value, interval in zip(found.value, found.intervals(), strict=True)
        ]

    def is_there(self, sums: np.ndarray) -> bool:
        """Whether the gap, or the whole, is more than rounding."""
        import numpy as np

        return bool(np.isfinite(beyond_rounding(float(sums.sum()), float(self.size.sum()))))


def together(sets: Sequence[QuerySums]) -> QuerySums:
    """The sums over all sets; a query that several of them have is one query."""
    import numpy as np

    names, place = np.unique([name for one in sets for name in one.names], return_inverse=True)

    def added(what: str) -> np.ndarray:
        parts = np.concatenate([getattr(one, what) for one in sets])
        total = np.zeros((len(names), *parts.shape[1:]))
        np.add.at(total, place, parts)
        return total

    return QuerySums(tuple(map(str, names)), *map(added, ("effect", "gap", "whole", "size", "pairs")))
