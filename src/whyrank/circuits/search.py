"""Backward search by shares of the whole gap (select 'gap'): from the logits down to the embeddings.

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
from whyrank.circuits.criterion import Criterion
from whyrank.circuits.head import Head, all_heads, together
from whyrank.circuits.results import EMBED, LOGITS, Edge, Found, SetsCorrelation, Step
from whyrank.circuits.shares import Shares
from whyrank.circuits.threshold import LEFT, Threshold
from whyrank.core.errors import UserError
from whyrank.core.progress import OpenProgress, no_progress
from whyrank.encoders.site import Site, SiteSet
from whyrank.evaluation.estimate import Estimate, finite
from whyrank.interventions.intervention import Intervention
from whyrank.interventions.path import PathPatching
from whyrank.interventions.plan import SitePlan
from whyrank.interventions.several_paths import SeveralPaths
from whyrank.interventions.statistics import clusters, compare_maps
from whyrank.interventions.sweep import sweep
from whyrank.rankers.neural import NeuralRanker

if TYPE_CHECKING:
    import pandas as pd

PARTS = ("v", "q", "k")
#: Steps (each for v, q and k) after which the search ends in any case.
MOST_STEPS = 6
#: How heads are selected: on one half of the queries, confirmed on the other; or by the gap's share at every hop.
HALVES, GAP = SELECTS = ("halves", "gap")
#: Receivers in so many of the top layers are cheap to patch: little of the model runs again.
CHEAP_LAYERS = 3
Sets = Mapping[str, Sequence[MinimalPair]]


@dataclass(frozen=True)
class Search:
    """How the search is done: pairs in all to the logits and to every other set of receivers.

    Patching heads low in the model runs most of it again for every sender, so after the first `race` pairs only
    the `followed` strongest senders to v, to q and to k are patched on the rest; the others are far below them.
    That, and the `threshold`, are of select 'gap'; the `criterion` is of select 'halves', and so is
    `pairs_to_select`: on how many pairs heads are chosen and confirmed by their total effect.
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
    select: str = HALVES
    criterion: Criterion = field(default_factory=Criterion)
    pairs_to_select: int = 400

    def __post_init__(self) -> None:
        if self.select not in SELECTS:
            raise UserError(f"select cannot be '{self.select}'", todo=f"choose {' or '.join(SELECTS)}")


def backward_search(
    ranker: NeuralRanker,
    sets: Sets,
    how: Search | None = None,
    *,
    shards: Path | None = None,
    progress: OpenProgress = no_progress,
) -> Found:
    """The circuit that several sets of aligned pairs (terms, synonyms) find together; roles are not yet known."""
    return _Walk(ranker, sets, how or Search(), shards, progress).run()


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
        self, ranker: NeuralRanker, sets: Sets, how: Search, shards: Path | None, progress: OpenProgress
    ) -> None:
        self.ranker, self.how, self.shards, self.progress = ranker, how, shards, progress
        check_sets(sets)
        self.to_logits = sample(sets, how.pairs_to_logits, how.seed)
        self.to_heads = sample(sets, how.pairs_to_heads, how.seed)
        self.steps: list[Step] = []
        self.edges: list[Edge] = []

    def run(self) -> Found:
        seen: set[Head] = set()
        frontier = self._step(0, [], seen)
        for number in range(1, self.how.most_steps + 1):
            if not frontier:
                break
            frontier = self._step(number, frontier, seen)
        ended = f"after {self.how.most_steps} steps, as asked" if frontier else "no new head passes the threshold"
        return Found(tuple(self.steps), tuple(self.edges), ended)

    def _step(self, number: int, receivers: Sequence[Head], seen: set[Head]) -> list[Head]:
        """All senders to the logits, or to the values, queries and keys of the receivers, each apart; returns the
        heads that are new."""
        swept = self._sent(number, receivers)
        groups = {str(together(receivers, part)): part for part in PARTS} if receivers else {LOGITS: None}
        names = tuple(str(head) for head in receivers) or (LOGITS,)
        edges = [
            edge
            for receiver, part in groups.items()
            for edge in self._decided(number, names, part, swept.to(receiver))
        ]
        new = {Head.parse(edge.sender) for edge in edges if edge.is_kept and edge.sender != EMBED} - seen
        self.edges += edges
        seen |= new
        return sorted(new)

    def _sent(self, number: int, receivers: Sequence[Head]) -> _Swept:
        path = self._path(receivers)
        senders = [SiteSet((head.site(),)) for head in all_heads(self.ranker.encoder)]
        senders = [one for one in senders if path.reached_from(one)]
        if isinstance(path, SeveralPaths):
            return self._raced(number, [*senders, SiteSet((Site(EMBED),))], path)
        return self._swept(number, self.to_logits, senders, path)

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
        strong = self._strongest(early, path)
        late = self._swept(number, rest, [one for one in senders if str(one) in strong], path, "followed")
        return early.then(late)

    def _strongest(self, early: _Swept, path: SeveralPaths) -> set[str]:
        """The embeddings, and for each set of receivers the senders with the largest shares."""
        strong: set[str] = {EMBED}
        for receivers in path.receivers:
            shares = Shares.of(early.to(str(receivers)).frames, draws=1)
            order = sorted(zip(-abs(np.nan_to_num(shares.together)), shares.sites, strict=True))
            strong |= {site for _, site in order[: self.how.followed]}
        return strong

    def _swept(
        self, number: int, sets: Sets, senders: Sequence[SiteSet], path: Intervention, name: str = "all"
    ) -> _Swept:
        every = [pair for pairs in sets.values() for pair in pairs]
        folder = None if self.shards is None else self.shards / f"{number}-{name}"
        title = (
            f"{len(senders)} senders to the logits" if number == 0 else f"step {number}: {len(senders)} senders"
        )
        with self.progress(title, len(every)) as advance:
            frame = sweep(
                self.ranker, every, SitePlan(tuple(senders)), path, shards=folder, progress=advance
            ).frame
        return _Swept(split_by_set(frame, sets))

    def _decided(self, number: int, receivers: tuple[str, ...], part: str | None, swept: _Swept) -> list[Edge]:
        """Adds the step, and returns its edges, decided on the senders that all pairs have."""
        shares = Shares.of(swept.followed(), seed=self.how.seed)
        heads = np.array([site != EMBED for site in shares.sites])
        words, support, cutoff = self.how.threshold.decisions(shares.resampled, heads)
        names = [site.removesuffix(".z") for site in shares.sites]
        edges = [
            Edge(
                number, names[i], receivers, part, share, finite(float(support[i])), words[i],
                {name: finite(float(values[i])) for name, values in shares.by_set.items()},
            )
            for i, share in enumerate(shares.estimates())
            if words[i] != LEFT
        ]  # fmt: skip
        every = Shares.of(swept.frames, draws=1)
        known = {site.removesuffix(".z"): v for site, v in zip(every.sites, every.together, strict=True)}
        known |= dict(zip(names, shares.together, strict=True))
        self.steps.append(
            Step(
                number=number,
                receivers=receivers,
                part=part,
                cutoff=cutoff,
                largest=float(abs(np.nan_to_num(shares.together[heads])).max(initial=0.0)),
                pairs=shares.pairs,
                queries=shares.queries,
                shares={name: finite(float(value)) for name, value in known.items()},
                followed=len(names),
                chosen_on=sum(every.pairs.values()),
                between_sets=sets_correlation(swept.frames, self.how.seed),
            )
        )
        return sorted(edges, key=lambda edge: -abs(edge.share.value or 0.0))


@dataclass(frozen=True, eq=False)
class _Swept:
    """The rows of each set's pairs that have all senders; `late`: those of pairs that have only the senders that
    were followed."""

    frames: dict[str, pd.DataFrame]
    late: dict[str, pd.DataFrame] | None = None

    def to(self, receiver: str) -> _Swept:
        late = None if self.late is None else _to(self.late, receiver)
        return _Swept(_to(self.frames, receiver), late)

    def then(self, late: _Swept) -> _Swept:
        return _Swept(self.frames, late.frames)

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


def check_sets(sets: Sets) -> None:
    if not sets or not all(sets.values()):
        raise UserError("no pairs to search with", todo="make TFC1 and STMC1 pairs: whyrank pairs --axiom ...")
    ids = [pair.id for pairs in sets.values() for pair in pairs]
    if len(ids) != len(set(ids)):
        raise UserError("two files have a pair of the same id", todo="give each pair its own id")


def sets_correlation(frames: Mapping[str, pd.DataFrame], seed: int) -> SetsCorrelation | None:
    """How alike the first two sets' maps of the heads are (the embeddings would make any two maps alike)."""
    if len(frames) < 2:
        return None
    (first, one), (second, other) = list(frames.items())[:2]
    one, other = (frame[frame["site"] != EMBED] for frame in (one, other))
    if one.empty or other.empty:
        return None
    found, _ = compare_maps(one, other, seed=seed)
    pairs = one["pair"].nunique() + other["pair"].nunique()
    queries = len({*clusters(one), *clusters(other)})
    r = Estimate.of(found.pearson, found.interval, int(pairs), queries)
    return SetsCorrelation(first, second, found.sites, r, finite(found.spearman))
