"""Sweeps: pairs x sites x an intervention, in shards that are written whole and reused after a kill."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch

from whyrank.axioms.pair import MinimalPair
from whyrank.core.errors import UserError
from whyrank.core.kept import content_key, keep, kept
from whyrank.core.progress import Progress
from whyrank.engines.engine import Engine, Local
from whyrank.interventions.activation import Activation
from whyrank.interventions.effects import EffectTable, effect_rows
from whyrank.interventions.intervention import Intervention
from whyrank.interventions.plan import SitePlan
from whyrank.interventions.prepared import PreparedPair
from whyrank.rankers.load import load
from whyrank.rankers.neural import NeuralRanker

#: What a kill can cost.
PAIRS_PER_SHARD = 8


@dataclass(frozen=True)
class Work:
    """What is done to every pair, whoever does it."""

    plan: SitePlan
    intervention: Intervention
    side: str = "document"

    def effects(
        self, ranker: NeuralRanker, pairs: Sequence[MinimalPair], progress: Progress | None = None
    ) -> EffectTable:
        """The rows of some pairs."""
        groups = PreparedPair.groups(ranker, pairs, self.side)
        return EffectTable.of(row for group in groups for row in self._rows(group, progress))

    def _rows(self, group: list[PreparedPair], progress: Progress | None) -> Iterator[dict[str, object]]:
        how = self.intervention
        patches = [self.plan.patches(one.names) for one in group]
        for one, some, measured in zip(group, patches, how.measure(group, patches), strict=True):
            one.check_finite("patched", measured.patched.tolist())
            yield from effect_rows(
                one.pair,
                how.outcomes(some),
                measured.baseline,
                measured.perturbed,
                measured.patched.tolist(),
                names=one.names,
                method=how.method,
                direction=how.direction,
            )
            if progress:
                progress(1)

    def key(self, fingerprint: str, pairs: Sequence[MinimalPair]) -> str:
        """What tells a shard from any other: its content is decided by this and nothing else."""
        return content_key(
            fingerprint,
            [pair.to_json() for pair in pairs],
            list(map(str, self.plan.sets)),
            self.plan.by,
            self.intervention.inputs(),
            self.side,
        )


def sweep(
    ranker: NeuralRanker,
    pairs: Sequence[MinimalPair],
    plan: SitePlan,
    intervention: Intervention | None = None,
    *,
    side: str = "document",
    shards: Path | None = None,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> EffectTable:
    """One row for every pair and site of the plan; with `shards`, a folder for this work, what is done is kept.

    CannotAlign for a pair that this ranker's tokenizer does not align.
    """
    work = Work(plan, intervention or Activation(), side)
    work.intervention.check(ranker.encoder, plan.sets)
    engine = engine or Local()
    groups = list(_groups(pairs))
    fingerprint = ranker.fingerprint() if shards is not None or engine.remote else ""
    store = None if shards is None else Store(shards, [work.key(fingerprint, some) for some in groups])
    missing = [number for number in range(len(groups)) if store is None or store.get(number) is None]
    if progress:
        progress(sum(map(len, groups)) - sum(len(groups[number]) for number in missing))
    if missing:
        work = Work(plan, work.intervention.prepared(ranker, plan.sets, side), side)
    made: dict[int, EffectTable] = {}
    for number, effects in _run(ranker, fingerprint, work, {n: groups[n] for n in missing}, engine, progress):
        if store is None:
            made[number] = effects
        else:
            store.keep(number, effects)
    if store is None:
        return EffectTable.joined(made[number] for number in range(len(groups)))
    return EffectTable.joined(map(store.kept, range(len(groups))))


class Store:
    """Shards in a folder, each a Parquet table with a note of what it is the result of and a checksum."""

    def __init__(self, folder: Path, keys: Sequence[str]) -> None:
        self.folder, self.keys = folder, keys

    def path(self, number: int) -> Path:
        return self.folder / f"{number:05d}.shard"

    def get(self, number: int) -> bytes | None:
        """A shard's table, if it is there, of this work, and as it was written."""
        return kept(self.path(number), self.keys[number])

    def kept(self, number: int) -> EffectTable:
        """The rows of a shard that was found or kept before."""
        content = self.get(number)
        if content is None:
            raise UserError(
                "a shard was changed while it was in use", where=self.path(number), todo="run it again"
            )
        return EffectTable.read(io.BytesIO(content))

    def keep(self, number: int, effects: EffectTable) -> None:
        buffer = io.BytesIO()
        effects.frame.to_parquet(buffer, index=False)
        keep(self.path(number), self.keys[number], buffer.getvalue())


def _groups(pairs: Sequence[MinimalPair]) -> Iterator[Sequence[MinimalPair]]:
    for start in range(0, len(pairs), PAIRS_PER_SHARD):
        yield pairs[start : start + PAIRS_PER_SHARD]


def _run(
    ranker: NeuralRanker,
    fingerprint: str,
    work: Work,
    groups: dict[int, Sequence[MinimalPair]],
    engine: Engine,
    progress: Progress | None,
) -> Iterator[tuple[int, EffectTable]]:
    """(number of the group, its rows), as they are done."""
    if not engine.remote:
        for number, pairs in groups.items():
            yield number, work.effects(ranker, pairs, progress)
        return
    numbers, remote = list(groups), RemoteWork(*_how_to_load(ranker), fingerprint, work)
    for i, effects in engine.each(effects_on_worker, remote, [groups[number] for number in numbers]):
        yield numbers[i], effects
        if progress:
            progress(len(groups[numbers[i]]))


@dataclass(frozen=True)
class RemoteWork:
    """What a worker needs: how to load the ranker, its fingerprint, and what to do."""

    name: str
    settings: tuple[tuple[str, Any], ...]
    fingerprint: str
    work: Work


def effects_on_worker(remote: RemoteWork, pairs: Sequence[MinimalPair]) -> EffectTable:
    """What a worker does with a shard: one thread, the ranker loaded once."""
    torch.set_num_threads(1)
    return remote.work.effects(_ranker(remote.name, remote.settings, remote.fingerprint), pairs)


@lru_cache(maxsize=1)
def _ranker(name: str, settings: tuple[tuple[str, Any], ...], fingerprint: str) -> NeuralRanker:
    ranker = load(name, **dict(settings))
    assert isinstance(ranker, NeuralRanker)
    if ranker.fingerprint() != fingerprint:
        raise UserError(
            f"a worker loads other weights as {name}", todo="save the ranker to a folder that every worker sees"
        )
    return ranker


def _how_to_load(ranker: NeuralRanker) -> tuple[str, tuple[tuple[str, Any], ...]]:
    """The name and settings that load this ranker on a worker."""
    checkpoint = ranker.checkpoint
    name = str(checkpoint.folder) if checkpoint.source.place == "folder" else checkpoint.name
    settings = {key: value for key, value in checkpoint.settings.items() if value is not None}
    return name, tuple({**settings, "kind": ranker.kind}.items())
