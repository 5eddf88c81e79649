"""Is the circuit enough, and is it needed? Heads are ablated in both runs of each pair, the gap measured again.

    kept(A) = sum over pairs (pert - base with heads A ablated) / sum over pairs (pert - base)

Only the circuit: everything else is ablated; what is kept should be much. Without the circuit: it is ablated
itself; what is kept should be little. Both are compared with random sets of as many heads of each layer. Ablation:
zero, the mean over a reference set by token category, or values of another pair (resample).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from whyrank.axioms.pair import MinimalPair
from whyrank.circuits.head import Head, all_heads, together
from whyrank.circuits.random_heads import layer_matched
from whyrank.circuits.results import Ablated, Ablations, Faithfulness, RandomSets
from whyrank.core.progress import OpenProgress, no_progress
from whyrank.evaluation.bootstrap import resample
from whyrank.evaluation.estimate import Estimate
from whyrank.interventions.ablation import KINDS, Ablation
from whyrank.interventions.plan import SitePlan
from whyrank.interventions.statistics import beyond_rounding, clusters
from whyrank.interventions.sweep import sweep
from whyrank.rankers.neural import NeuralRanker

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

#: Random circuits that the circuit is compared with.
RANDOM_CIRCUITS = 10
NO_RANDOMS = RandomSets(0)


#: Heads to ablate, and as many random ones, several times.
Rivals = tuple[list[Head], list[list[Head]]]


def faithfulness(
    ranker: NeuralRanker,
    heads: Sequence[Head],
    pairs: Sequence[MinimalPair],
    *,
    matching: Sequence[Head] = (),
    kinds: Sequence[str] = KINDS,
    randoms: int = RANDOM_CIRCUITS,
    seed: int = 0,
    shards: Path | None = None,
    progress: OpenProgress = no_progress,
) -> Faithfulness:
    """What of the gap is kept, by kind of ablation: without the rest, without the circuit, and for random ones;
    and without the matching heads alone, as in the paper."""
    every, circuit = all_heads(ranker.encoder), sorted(heads)
    drawn = layer_matched(every, circuit, randoms, f"{seed} circuit")
    ways: dict[str, Rivals] = {
        "only_circuit": (_without(every, circuit), [_without(every, one) for one in drawn]),
        "without_circuit": (circuit, drawn),
    }
    if matching:
        as_many = layer_matched(every, matching, randoms, f"{seed} matching")
        ways["without_matching"] = (sorted(matching), as_many)
    found = {kind: _ablations(ranker, pairs, ways, kind, seed, shards, progress) for kind in kinds}
    return Faithfulness(len(heads), len(every), len(pairs), found)


def _without(every: Sequence[Head], some: Sequence[Head]) -> list[Head]:
    return [head for head in every if head not in set(some)]


def _ablations(
    ranker: NeuralRanker,
    pairs: Sequence[MinimalPair],
    ways: dict[str, Rivals],
    kind: str,
    seed: int,
    shards: Path | None,
    progress: OpenProgress,
) -> Ablations:
    """For each way the mean scores of both sides, and the share of the gap that is kept."""
    sets = {tuple(one): together(one) for heads, drawn in ways.values() for one in (heads, *drawn)}
    both = _both_sides(ranker, pairs, SitePlan(tuple(dict.fromkeys(sets.values()))), kind, seed, shards, progress)
    rows = dict(list(both.groupby("site", sort=False)))

    def ablated(heads: Sequence[Head], random: RandomSets = NO_RANDOMS) -> Ablated:
        return _ablated(rows[str(sets[tuple(heads)])], random, seed)

    found = {
        name: ablated(heads, _spread([ablated(one) for one in drawn])) for name, (heads, drawn) in ways.items()
    }
    intact = both[both["site"] == both["site"].iloc[0]]
    return Ablations(float(intact["base"].mean()), float(intact["perturbed"].mean()), **found)


def _both_sides(
    ranker: NeuralRanker,
    pairs: Sequence[MinimalPair],
    plan: SitePlan,
    kind: str,
    seed: int,
    shards: Path | None,
    progress: OpenProgress,
) -> pd.DataFrame:
    """One row per pair and set of heads: `patched` is the ablated baseline's score, `patched_noise` that of the
    ablated perturbed side."""
    frames = {}
    for direction, side in (("denoise", "baseline"), ("noise", "perturbed")):
        ablation = Ablation(kind, direction, seed).with_reference(pairs)
        folder = None if shards is None else shards / f"{kind}-{direction}"
        with progress(f"ablating ({kind}, {side})", len(pairs)) as advance:
            frames[direction] = sweep(ranker, pairs, plan, ablation, shards=folder, progress=advance).frame
    both = frames["denoise"].merge(frames["noise"], on=["pair", "site"], suffixes=("", "_noise"))
    assert len(both) == len(frames["denoise"]) == len(frames["noise"])
    return both


def _ablated(rows: pd.DataFrame, random: RandomSets, seed: int) -> Ablated:
    import numpy as np
    import pandas as pd

    gap = (rows["perturbed"] - rows["base"]).to_numpy(dtype=float)
    left = (rows["patched_noise"] - rows["patched"]).to_numpy(dtype=float)
    size = (rows["perturbed"].abs() + rows["base"].abs()).to_numpy(dtype=float)
    number, queries = pd.factorize(clusters(rows))
    above, below, scores = (
        np.bincount(number, weights=one, minlength=len(queries))[:, None] for one in (left, gap, size)
    )

    def share_kept(weights: np.ndarray) -> np.ndarray:
        return (weights @ above) / beyond_rounding(weights @ below, weights @ scores)

    kept = resample(share_kept, len(queries), seed=seed)
    share = Estimate.of(float(kept.value[0]), kept.interval(), len(rows), len(queries))
    return Ablated(share, float(rows["patched"].mean()), float(rows["patched_noise"].mean()), random)


def _spread(several: Sequence[Ablated]) -> RandomSets:
    """Over random sets of heads."""
    if not several:
        return NO_RANDOMS
    kept = [one.kept.value for one in several if one.kept.value is not None]
    mean, least, most = (fmean(kept), min(kept), max(kept)) if kept else (None, None, None)
    scores = [one.perturbed for one in several]
    return RandomSets(len(several), mean, least, most, fmean(scores), min(scores))
