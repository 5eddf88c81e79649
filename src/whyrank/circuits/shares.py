"""What each sender does, over several sets of pairs at once (terms and synonyms), with the draws of a bootstrap.

A site's share of the gap is the ratio of sums over the pairs of all sets, sum(patched - base) / sum(pert - base);
the share within each set is known, too. (The mean of the sets' shares would be at the mercy of a set whose gaps
nearly cancel, as synonyms' may.) Draws take whole queries, the same ones in every set that has them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from whyrank.evaluation.bootstrap import DRAWS, Resampled, resample
from whyrank.evaluation.estimate import Estimate
from whyrank.interventions.statistics import SiteTable

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Shares:
    """The shares [sites] over all pairs, drawn again with the queries, and in each set."""

    sites: list[str]
    resampled: Resampled
    counts: np.ndarray
    by_set: dict[str, np.ndarray]
    pairs: dict[str, int]
    queries: int

    @classmethod
    def of(cls, frames: Mapping[str, pd.DataFrame], *, draws: int = DRAWS, seed: int = 0) -> Shares:
        """From the rows of each set, whose sites must be the same."""
        import pandas as pd

        every = SiteTable.of(pd.concat(list(frames.values()), ignore_index=True))
        by_set = {name: SiteTable.of(frame) for name, frame in frames.items()}
        for name, table in by_set.items():
            assert table.sites == every.sites, f"{name} has other sites"
        return cls(
            every.sites,
            resample(every.shares, len(every.queries), present=every.present, draws=draws, seed=seed),
            every.count.sum(axis=0),
            {name: table.shares() for name, table in by_set.items()},
            {name: int(frame["pair"].nunique()) for name, frame in frames.items()},
            len(every.queries),
        )

    @property
    def together(self) -> np.ndarray:
        """Over the pairs of all sets."""
        return self.resampled.value

    def estimates(self) -> list[Estimate]:
        """The share of each site, with its interval."""
        return [
            Estimate.of(float(share), interval, int(pairs), int(queries))
            for share, interval, pairs, queries in zip(
                self.together, self.resampled.intervals(), self.counts, self.resampled.clusters, strict=True
            )
        ]
