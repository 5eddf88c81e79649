"""Sweeps: pairs x sites, in shards that are written whole and taken up again after a kill."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from whyrank import __version__
from whyrank.axioms.pair import MinimalPair
from whyrank.axioms.realise import token_categories
from whyrank.errors import UserError
from whyrank.interventions.activation import patch_pair
from whyrank.interventions.effects import Effects, effect_rows
from whyrank.interventions.plan import SitePlan
from whyrank.rankers.neural import NeuralRanker
from whyrank.rankers.ranker import Progress
from whyrank.store.atomic import write_text
from whyrank.store.packages import sha256
from whyrank.text.alignment import CannotAlign

#: Pairs a shard: what a kill can cost.
PAIRS_A_SHARD = 8


def sweep(
    ranker: NeuralRanker,
    pairs: Sequence[MinimalPair],
    plan: SitePlan,
    *,
    direction: str = "denoise",
    shards: Path | None = None,
    progress: Progress | None = None,
) -> Effects:
    """Activation patching of every site of the plan in every pair."""
    check_aligned_for(ranker, pairs)
    if shards is None:
        return Effects.of(row for pair in pairs for row in _rows(ranker, pair, plan, direction, progress))
    done, fingerprint = [], ranker.fingerprint()
    for number, some in enumerate(_groups(pairs)):
        path = shards / f"{number:05d}.parquet"
        key = _key(fingerprint, some, plan, direction)
        if not _is_whole(path, key):
            Effects.of(row for pair in some for row in _rows(ranker, pair, plan, direction, progress)).write(path)
            write_text(path.with_suffix(".json"), json.dumps({"key": key, "sha256": sha256(path)}))
        elif progress:
            progress(len(some))
        done.append(path)
    return Effects.read(done)


def check_aligned_for(ranker: NeuralRanker, pairs: Sequence[MinimalPair]) -> None:
    """Raises for the first pair that cannot be patched in this ranker, naming it and why."""
    for pair in pairs:
        try:
            token_categories(pair, ranker)
        except CannotAlign as reason:
            raise UserError(
                f"pair {pair.id!r} cannot be patched in {ranker.name}: {reason}",
                todo="leave it out, or make pairs for this ranker with whyrank pairs --ranker",
            ) from reason


def _rows(
    ranker: NeuralRanker, pair: MinimalPair, plan: SitePlan, direction: str, progress: Progress | None
) -> Iterator[dict[str, object]]:
    patches = plan.patches(token_categories(pair, ranker))
    result = patch_pair(ranker, pair, patches, direction=direction)
    yield from effect_rows(
        pair,
        patches,
        result.baseline,
        result.perturbed,
        result.patched.tolist(),
        method="activation",
        direction=direction,
    )
    if progress:
        progress(1)


def _groups(pairs: Sequence[MinimalPair]) -> Iterator[Sequence[MinimalPair]]:
    for start in range(0, len(pairs), PAIRS_A_SHARD):
        yield pairs[start : start + PAIRS_A_SHARD]


def _key(fingerprint: str, pairs: Sequence[MinimalPair], plan: SitePlan, direction: str) -> str:
    """What tells a shard from any other: its content is decided by this and nothing else."""
    told = [
        __version__,
        fingerprint,
        [pair.to_json() for pair in pairs],
        list(map(str, plan.sets)),
        plan.by,
    ]
    return hashlib.sha256(json.dumps([*told, direction]).encode()).hexdigest()


def _is_whole(path: Path, key: str) -> bool:
    """Whether a shard is there, of this work, and as it was written."""
    note = path.with_suffix(".json")
    if not (path.exists() and note.exists()):
        return False
    told = json.loads(note.read_text(encoding="utf-8"))
    return bool(told.get("key") == key and told.get("sha256") == sha256(path))
