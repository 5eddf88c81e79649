"""The share of the gap that is kept when only some nodes are live and all others are held.

    F(A) = sum over pairs (perturbed side with only A live - baseline) / sum over pairs (perturbed - baseline)

`baseline`: the perturbed text is read, and every node outside A has the value that it had in the pair's baseline
run (ACDC, EAP-IG); baseline is that run's score. `mean` and `resample`: nodes outside A are ablated in both runs,
and what is left is the gap between the two (see `interventions.ablation`). What is no node, LayerNorms and unless
they are nodes MLPs, is always live. So with nothing live the embeddings and MLPs are all that is left: for a score
read from the first row, the same token on both sides, which reads other rows through heads only, F is 0. With
everything live nothing is held: F is 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from whyrank.axioms.pair import MinimalPair
from whyrank.circuits.curves.results import BASELINE
from whyrank.core.progress import OpenProgress, no_progress
from whyrank.encoders.site import Site, SiteSet
from whyrank.evaluation.bootstrap import resample
from whyrank.evaluation.estimate import Estimate
from whyrank.interventions.ablation import Ablation
from whyrank.interventions.activation import Activation
from whyrank.interventions.intervention import Intervention
from whyrank.interventions.plan import SitePlan
from whyrank.interventions.statistics import beyond_rounding, clusters
from whyrank.interventions.sweep import sweep
from whyrank.rankers.neural import NeuralRanker

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

Live = frozenset[Site]


@dataclass(frozen=True, eq=False)
class Kept:
    """Of n pairs: the gap, the size of its scores, the number of the query, and by set of live nodes (or by any
    other key) what is left of the gap [n] each."""

    gap: np.ndarray
    size: np.ndarray
    query: np.ndarray
    left: dict[object, np.ndarray]
    seed: int = 0

    @property
    def pairs(self) -> int:
        return len(self.gap)

    @property
    def queries(self) -> int:
        return len(set(self.query.tolist()))

    def share(self, *several: object) -> Estimate:
        """F, or its mean over several sets."""
        import numpy as np

        return self._estimate(np.mean([self.left[one] for one in several], axis=0))

    def difference(self, one: object, other: object) -> Estimate:
        """F(one) - F(other), by the same draws of queries."""
        return self._estimate(self.left[one] - self.left[other])

    def _estimate(self, left: np.ndarray) -> Estimate:
        import numpy as np

        above, below, scores = (
            np.bincount(self.query, weights=one, minlength=self.queries)[:, None]
            for one in (left, self.gap, self.size)
        )
        found = resample(
            lambda weights: (weights @ above) / beyond_rounding(weights @ below, weights @ scores),
            self.queries,
            seed=self.seed,
        )
        return Estimate.of(float(found.value[0]), found.interval(), self.pairs, self.queries)


def kept(
    ranker: NeuralRanker,
    pairs: Sequence[MinimalPair],
    nodes: Sequence[Site],
    live: Iterable[Live],
    held: str = BASELINE,
    *,
    reference: Sequence[MinimalPair] | None = None,
    seed: int = 0,
    shards: Path | None = None,
    progress: OpenProgress = no_progress,
) -> Kept:
    """What is left of the gap for each set of live nodes, all other `nodes` held; `reference`: the pairs that
    means and other pairs' values are of, these ones unless given."""
    sets = {one: SiteSet(tuple(node for node in nodes if node not in one)) for one in dict.fromkeys(live)}
    work = _Work(ranker, pairs, SitePlan(tuple(one for one in sets.values() if one.sites)), shards, progress)
    if held == BASELINE:
        frame = work.swept("baseline", Activation("noise"))
        left = frame["patched"] - frame["base"]
    else:
        frame, other = (
            work.swept(f"{held}-{way}", Ablation(held, way, seed).with_reference(reference or pairs))
            for way in ("noise", "denoise")
        )
        assert (frame[["pair", "site"]] == other[["pair", "site"]]).all(axis=None)
        left = frame["patched"] - other["patched"]
    return _kept(frame, left, sets, seed)


def _kept(frame: pd.DataFrame, left: pd.Series, sets: dict[Live, SiteSet], seed: int) -> Kept:
    import pandas as pd

    rows = dict(iter(left.groupby(frame["site"], sort=False)))
    first = frame[frame["site"] == frame["site"].iloc[0]]
    gap = (first["perturbed"] - first["base"]).to_numpy(dtype=float)
    size = (first["perturbed"].abs() + first["base"].abs()).to_numpy(dtype=float)
    query, _ = pd.factorize(clusters(first))
    found: dict[object, np.ndarray] = {
        live: rows[str(one)].to_numpy(dtype=float) if one.sites else gap for live, one in sets.items()
    }
    return Kept(gap, size, query, found, seed)


@dataclass(frozen=True)
class _Work:
    """One plan, swept in several ways."""

    ranker: NeuralRanker
    pairs: Sequence[MinimalPair]
    plan: SitePlan
    shards: Path | None
    progress: OpenProgress

    def swept(self, name: str, how: Intervention) -> pd.DataFrame:
        folder = self.shards and self.shards / name
        with self.progress(f"{len(self.plan.sets)} circuits alone ({name})", len(self.pairs)) as advance:
            return sweep(self.ranker, self.pairs, self.plan, how, shards=folder, progress=advance).frame
