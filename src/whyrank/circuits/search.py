"""Backward search: from the logits down to the embeddings, by path patching.

Step 0 asks which heads reach the logits directly. Those that pass the threshold are the first receivers:
which heads reach the logits through their values, queries, keys? Heads found there that are new are the next
receivers, and so on, until no new head passes. The receivers of a step are patched together, as in the paper; the
embeddings send in every step but the first (with all heads frozen they cannot reach the CLS row).
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from whyrank.axioms.pair import MinimalPair
from whyrank.circuits.circuit import EMBED, LOGITS, Circuit, Edge, Step
from whyrank.circuits.head import Head, all_heads, together
from whyrank.circuits.shares import Shares
from whyrank.circuits.threshold import LEFT, Threshold
from whyrank.core.errors import UserError
from whyrank.core.progress import OpenProgress, no_progress
from whyrank.encoders.site import Site, SiteSet
from whyrank.interventions.intervention import Intervention
from whyrank.interventions.path import PathPatching
from whyrank.interventions.plan import SitePlan
from whyrank.interventions.several_paths import SeveralPaths
from whyrank.interventions.statistics import compare_maps, finite
from whyrank.interventions.sweep import sweep
from whyrank.rankers.neural import NeuralRanker

if TYPE_CHECKING:
    import pandas as pd

PARTS = ("v", "q", "k")
#: Steps (each for v, q and k) after which the search ends in any case.
MOST_STEPS = 6
#: Receivers in so many of the top layers are cheap to patch: little of the model runs again.
CHEAP_LAYERS = 3
Sets = Mapping[str, Sequence[MinimalPair]]


@dataclass(frozen=True)
class Search:
    """How the search is done: pairs in all to the logits and to every other set of receivers.

    Patching heads low in the model runs most of it again for every sender, so after the first `race` pairs only
    the `followed` strongest senders to v, to q and to k are patched on the rest; the others are far below them.
    """

    threshold: Threshold = field(default_factory=Threshold)
    pairs_to_logits: int = 500
    pairs_to_heads: int = 100
    most_steps: int = MOST_STEPS
    race: int = 24
    followed: int = 24
    cheap_layers: int = CHEAP_LAYERS
    freeze_mlp: bool = False
    seed: int = 0


def backward_search(
    ranker: NeuralRanker,
    sets: Sets,
    how: Search | None = None,
    *,
    shards: Path | None = None,
    watch: OpenProgress | None = None,
) -> Circuit:
    """The circuit that several sets of aligned pairs (terms, synonyms) find together; roles are not yet told."""
    return _Walk(ranker, sets, how or Search(), shards, watch or no_progress).run()


def sample(sets: Sets, count: int, seed: int) -> dict[str, list[MinimalPair]]:
    """About `count` pairs in all, as many of each set, drawn once and for all by the seed."""
    each = -(-count // len(sets))
    return {
        name: random.Random(f"{seed} {name}").sample(list(pairs), min(each, len(pairs)))
        for name, pairs in sets.items()
    }


class _Walk:
    """The search while it goes on."""

    def __init__(
        self, ranker: NeuralRanker, sets: Sets, how: Search, shards: Path | None, watch: OpenProgress
    ) -> None:
        self.ranker, self.how, self.shards, self.watch = ranker, how, shards, watch
        _check_sets(sets)
        self.to_logits = sample(sets, how.pairs_to_logits, how.seed)
        self.to_heads = sample(sets, how.pairs_to_heads, how.seed)
        self.steps: list[Step] = []

    def run(self) -> Circuit:
        (first,) = self._step(0, [])
        frontier = self._new(first, set())
        seen = set(frontier)
        for number in range(1, self.how.most_steps + 1):
            if not frontier:
                break
            found = self._step(number, frontier)
            frontier = sorted({head for step in found for head in self._new(step, seen)})
            seen |= set(frontier)
        ended = f"after {self.how.most_steps} steps, as asked" if frontier else "no new head passes the threshold"
        return Circuit(self.ranker.name, tuple(self.steps), {}, ended)

    def _step(self, number: int, receivers: Sequence[Head]) -> list[Step]:
        """All senders to the logits, or to the values, queries and keys of the receivers, each apart."""
        path = self._path(receivers)
        senders = [SiteSet((head.site(),)) for head in all_heads(self.ranker.encoder)]
        senders = [one for one in senders if path.reached_from(one)]
        if receivers:
            senders.append(SiteSet((Site(EMBED),)))
        if isinstance(path, SeveralPaths):
            swept = self._raced(number, senders, path)
        else:
            swept = self._swept(number, self.to_logits, senders, path)
        groups = {str(together(receivers, part)): part for part in PARTS} if receivers else {LOGITS: None}
        names = tuple(str(head) for head in receivers) or (LOGITS,)
        for receiver, part in groups.items():
            self.steps.append(self._told(number, names, part, swept.to(receiver)))
        return self.steps[-len(groups) :]

    def _path(self, receivers: Sequence[Head]) -> PathPatching | SeveralPaths:
        if not receivers:
            return PathPatching(freeze_mlp=self.how.freeze_mlp)
        return SeveralPaths(tuple(together(receivers, part) for part in PARTS), freeze_mlp=self.how.freeze_mlp)

    def _raced(self, number: int, senders: Sequence[SiteSet], path: SeveralPaths) -> _Swept:
        """All senders on the first pairs; the strongest of them, for each part, on the rest. Receivers near the
        top are cheap: there, and where a quantile of all senders is asked for, all senders run on all pairs."""
        lowest = min(site.layer or 0 for receivers in path.receivers for site in receivers)
        cheap = lowest >= self.ranker.encoder.layers - self.how.cheap_layers
        if cheap or self.how.threshold.quantile is not None:
            return self._swept(number, self.to_heads, senders, path)
        first = sample(self.to_heads, self.how.race, self.how.seed)
        rest = {
            name: [pair for pair in pairs if pair.id not in {one.id for one in first[name]}]
            for name, pairs in self.to_heads.items()
        }
        if not all(rest.values()):
            return self._swept(number, self.to_heads, senders, path)
        early = self._swept(number, first, senders, path, "first")
        strong: set[str] = {EMBED}
        for receivers in path.receivers:
            shares = Shares.of(early.to(str(receivers)).frames, draws=1)
            order = sorted(zip(-abs(np.nan_to_num(shares.together)), shares.sites, strict=True))
            strong |= {site for _, site in order[: self.how.followed]}
        late = self._swept(number, rest, [one for one in senders if str(one) in strong], path, "followed")
        return early.then(late)

    def _swept(
        self, number: int, sets: Sets, senders: Sequence[SiteSet], path: Intervention, name: str = "all"
    ) -> _Swept:
        every = [pair for pairs in sets.values() for pair in pairs]
        folder = None if self.shards is None else self.shards / f"{number}-{name}"
        told = f"{len(senders)} senders to the logits" if number == 0 else f"step {number}: {len(senders)} senders"
        with self.watch(told, len(every)) as advance:
            frame = sweep(
                self.ranker, every, SitePlan(tuple(senders)), path, shards=folder, progress=advance
            ).frame
        return _Swept(split_by_set(frame, sets))

    def _told(self, number: int, receivers: tuple[str, ...], part: str | None, swept: _Swept) -> Step:
        """The step's edges, decided on the senders that all pairs have."""
        shares = Shares.of(swept.followed(), seed=self.how.seed)
        heads = np.array([site != EMBED for site in shares.sites])
        words, support, cutoff = self.how.threshold.decisions(shares.resampled, heads)
        intervals = shares.resampled.intervals()
        names = [site.removesuffix(".z") for site in shares.sites]
        edges = [
            Edge(
                names[i], receivers, part, float(shares.together[i]), intervals[i],
                finite(float(support[i])), words[i],
                {name: finite(float(values[i])) for name, values in shares.by_set.items()},
            )
            for i in range(len(names))
            if words[i] != LEFT
        ]  # fmt: skip
        every = Shares.of(swept.first(), draws=1)
        known = {site.removesuffix(".z"): v for site, v in zip(every.sites, every.together, strict=True)}
        known |= dict(zip(names, shares.together, strict=True))
        return Step(
            number,
            receivers,
            part,
            cutoff,
            float(abs(np.nan_to_num(shares.together[heads])).max(initial=0.0)),
            shares.pairs,
            shares.queries,
            tuple(sorted(edges, key=lambda edge: -abs(edge.share))),
            {name: finite(float(value)) for name, value in known.items()},
            len(names),
            sum(every.pairs.values()),
            self._between_sets(swept.first()),
        )

    def _between_sets(self, frames: Mapping[str, pd.DataFrame]) -> dict[str, object] | None:
        """How alike the first two sets' maps of the heads are (the embeddings would make any two maps alike)."""
        if len(frames) < 2:
            return None
        (first, one), (second, other) = list(frames.items())[:2]
        one, other = (frame[frame["site"] != EMBED] for frame in (one, other))
        if one.empty or other.empty:
            return None
        correlation, _ = compare_maps(one, other, seed=self.how.seed)
        pairs = one["pair"].nunique() + other["pair"].nunique()
        return {"of": first, "with": second, "pairs": int(pairs), **correlation.to_json()}

    def _new(self, step: Step, seen: set[Head]) -> list[Head]:
        return sorted({Head.parse(e.sender) for e in step.kept() if e.sender != EMBED} - seen)


@dataclass(frozen=True, eq=False)
class _Swept:
    """The rows of each set's pairs; of some pairs, perhaps, only those of the senders that were followed."""

    frames: dict[str, pd.DataFrame]
    late: dict[str, pd.DataFrame] | None = None

    def to(self, receiver: str) -> _Swept:
        late = None if self.late is None else _to(self.late, receiver)
        return _Swept(_to(self.frames, receiver), late)

    def then(self, late: _Swept) -> _Swept:
        return _Swept(self.frames, late.frames)

    def first(self) -> dict[str, pd.DataFrame]:
        """The rows of the pairs that have all senders."""
        return self.frames

    def followed(self) -> dict[str, pd.DataFrame]:
        """The rows of all pairs, of the senders that all of them have."""
        import pandas as pd

        if self.late is None:
            return self.frames
        found = {}
        for name, frame in self.frames.items():
            late = self.late[name]
            found[name] = pd.concat([frame[frame["site"].isin(set(late["site"]))], late], ignore_index=True)
        return found


def _to(frames: Mapping[str, pd.DataFrame], receiver: str) -> dict[str, pd.DataFrame]:
    return {name: frame[frame["receiver"] == receiver] for name, frame in frames.items()}


def split_by_set(frame: pd.DataFrame, sets: Sets) -> dict[str, pd.DataFrame]:
    """The rows of each set's pairs."""
    return {name: frame[frame["pair"].isin([pair.id for pair in pairs])] for name, pairs in sets.items()}


def _check_sets(sets: Sets) -> None:
    if not sets or not all(sets.values()):
        raise UserError("no pairs to search with", todo="make TFC1 and STMC1 pairs: whyrank pairs --axiom ...")
    ids = [pair.id for pairs in sets.values() for pair in pairs]
    if len(ids) != len(set(ids)):
        raise UserError("two files have a pair of the same id", todo="give each pair its own id")
