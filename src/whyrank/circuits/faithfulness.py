"""Is the circuit enough, and is it needed? Heads are ablated in both runs of each pair, the gap measured again.

    kept(A) = sum over pairs (pert - base with heads A ablated) / sum over pairs (pert - base)

`faithfulness`: everything but the circuit is ablated; what is kept should be much. `completeness`: the circuit
itself is; what is kept should be little. Both beside random sets of heads of the same size. Ablation: zero, the
mean over a reference set by token category, or values of another pair (resample).
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from whyrank.axioms.pair import MinimalPair
from whyrank.circuits.head import Head, all_heads, together
from whyrank.core.progress import OpenProgress, no_progress
from whyrank.encoders.site import SiteSet
from whyrank.evaluation.bootstrap import resample
from whyrank.interventions.ablation import KINDS, Ablation
from whyrank.interventions.plan import SitePlan
from whyrank.interventions.statistics import beyond_rounding, clusters, finite
from whyrank.interventions.sweep import sweep
from whyrank.rankers.neural import NeuralRanker

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

#: Random circuits that the circuit is compared with.
RANDOM_CIRCUITS = 10


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
    watch: OpenProgress | None = None,
) -> dict[str, Any]:
    """What of the gap is kept, by kind of ablation: without the rest, without the circuit, and for random ones;
    and without the matching heads alone, as in the paper."""
    every = all_heads(ranker.encoder)
    sets = {"circuit": sorted(heads), **_random_circuits(every, len(heads), randoms, f"{seed} circuit")}
    plans: dict[str, list[Head]] = {}
    for name, members in sets.items():
        plans[f"only {name}"] = [head for head in every if head not in set(members)]
        plans[f"without {name}"] = members
    if matching:
        plans["without matching"] = sorted(matching)
        as_many = _random_circuits(every, len(matching), randoms, f"{seed} matching")
        plans |= {f"without matching's {name}": members for name, members in as_many.items()}
    names = {name: together(one) for name, one in plans.items()}
    plan = SitePlan(tuple(dict.fromkeys(names.values())))
    return {
        "heads": len(heads),
        "of": len(every),
        "pairs": len(pairs),
        "kinds": {
            kind: _measured(ranker, pairs, plan, names, kind, seed, shards, watch or no_progress) for kind in kinds
        },
    }


def _random_circuits(every: Sequence[Head], size: int, count: int, seed: str) -> dict[str, list[Head]]:
    draw = random.Random(seed)
    return {f"random {i + 1}": sorted(draw.sample(list(every), size)) for i in range(count)}


def _measured(
    ranker: NeuralRanker,
    pairs: Sequence[MinimalPair],
    plan: SitePlan,
    names: Mapping[str, SiteSet],
    kind: str,
    seed: int,
    shards: Path | None,
    watch: OpenProgress,
) -> dict[str, Any]:
    """For each set: the mean scores of both sides, and the share of the gap that is kept."""
    frames = {}
    for direction in ("denoise", "noise"):
        ablation = Ablation(kind, direction, seed).with_reference(pairs)
        folder = None if shards is None else shards / f"{kind}-{direction}"
        with watch(
            f"ablating ({kind}, {'baseline' if direction == 'denoise' else 'perturbed'})", len(pairs)
        ) as tell:
            frames[direction] = sweep(ranker, pairs, plan, ablation, shards=folder, progress=tell).frame
    both = frames["denoise"].merge(frames["noise"], on=["pair", "site"], suffixes=("", "_noise"))
    assert len(both) == len(frames["denoise"]) == len(frames["noise"])
    found = {str(site): _kept(rows, seed) for site, rows in both.groupby("site", sort=False)}
    told = {name: found[str(one)] for name, one in names.items()}
    ways = ("only", "without", "without matching's")
    randoms = {way: [told.pop(name) for name in list(told) if name.startswith(f"{way} random")] for way in ways}
    first = both[both["site"] == both["site"].iloc[0]]
    return {
        "intact": {"base": float(first["base"].mean()), "perturbed": float(first["perturbed"].mean())},
        **told,
        "random": {way: _spread(values) for way, values in randoms.items()},
    }


def _kept(rows: pd.DataFrame, seed: int) -> dict[str, Any]:
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
    return {
        "kept": finite(float(kept.value[0])),
        **kept.interval().to_json(),
        "base": float(rows["patched"].mean()),
        "perturbed": float(rows["patched_noise"].mean()),
        "n": len(rows),
    }


def _spread(several: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Over the random circuits: the part of the gap that they keep, and the score they leave the perturbed
    side."""
    import numpy as np

    if not several:
        return {"circuits": 0}
    kept = [one["kept"] for one in several if one["kept"] is not None]
    scores: np.ndarray = np.array([one["perturbed"] for one in several])
    spread = (fmean(kept), min(kept), max(kept)) if kept else (None, None, None)
    return {
        "circuits": len(several), **dict(zip(("mean", "least", "most"), spread, strict=True)),
        "perturbed": float(scores.mean()), "perturbed_least": float(scores.min()),
    }  # fmt: skip
