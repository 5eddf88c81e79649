"""What each sender does, over several sets of pairs at once (terms and synonyms), with the draws of a bootstrap.

A site's share of the gap is the ratio of sums over the pairs of all sets, sum(patched - base) / sum(pert - base);
the share within each set stands beside it. (The mean of the sets' shares would be at the mercy of a set whose gaps
nearly cancel, as synonyms' may.) Draws take whole queries, the same ones in every set that has them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from whyrank.evaluation.bootstrap import DRAWS, cluster_weights
from whyrank.interventions.statistics import SiteTable

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Shares:
    """The shares [sites] over all pairs and in each set; `drawn` [draws, sites] are those over all in each
    draw."""

    sites: list[str]
    together: np.ndarray
    by_set: dict[str, np.ndarray]
    drawn: np.ndarray
    pairs: dict[str, int]
    queries: int

    @classmethod
    def of(cls, frames: Mapping[str, pd.DataFrame], *, draws: int = DRAWS, seed: int = 0) -> Shares:
        """From the rows of each set, whose sites must be the same."""
        import numpy as np
        import pandas as pd

        every = SiteTable.of(pd.concat(list(frames.values()), ignore_index=True))
        by_set = {name: SiteTable.of(frame) for name, frame in frames.items()}
        for name, table in by_set.items():
            assert table.sites == every.sites, f"{name} has other sites"
        drawn = every.shares(cluster_weights(len(every.queries), draws, seed))
        return cls(
            every.sites,
            every.shares(),
            {name: table.shares() for name, table in by_set.items()},
            drawn if len(every.queries) > 1 else np.full_like(drawn, math.nan),
            {name: int(frame["pair"].nunique()) for name, frame in frames.items()},
            len(every.queries),
        )

    def intervals(self) -> np.ndarray:
        """The middle 95% of the draws: [2, sites]."""
        import numpy as np

        if np.isnan(self.drawn).all():  # one query: nothing to redraw
            return np.full((2, len(self.sites)), math.nan)
        return np.nanquantile(self.drawn, [0.025, 0.975], axis=0)
