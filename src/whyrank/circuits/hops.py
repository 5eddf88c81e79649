"""The backward search among heads that were selected: who sends to whom, hop by hop.

Step 0 patches every head's direct path to the logits. Heads of the circuit that send to them are the first
receivers; step 1 patches the paths of all heads below to the receivers' values, queries and keys, each apart; the
heads of the circuit found there that are new receive next, until there are none.

A hop's effects are shares of what its receivers can carry: the effect on the score when all of them have their
whole perturbed v (q, k) in the baseline's run. Deeper receivers carry less of the gap, so a share of the gap alone
would make every deep sender small. Senders are chosen and confirmed as heads are (`criterion`), in every set whose
receivers surely carry something: all senders on the selection half, those chosen on the other.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from whyrank.axioms.pair import MinimalPair
from whyrank.circuits.criterion import Choice, Confirmation
from whyrank.circuits.halves import Halves
from whyrank.circuits.head import Head, all_heads, together
from whyrank.circuits.query_sums import QuerySums
from whyrank.circuits.query_sums import together as all_sets
from whyrank.circuits.results import EMBED, LOGITS, Carried, Edge, Found, Step
from whyrank.circuits.search import PARTS, Search, check_sets, sets_correlation
from whyrank.circuits.selected import Selection
from whyrank.circuits.selection import by_set, select_heads
from whyrank.core.progress import OpenProgress, no_progress
from whyrank.encoders.site import Site, SiteSet
from whyrank.evaluation.estimate import Estimate, finite
from whyrank.interventions.activation import Activation
from whyrank.interventions.intervention import Intervention
from whyrank.interventions.path import PathPatching
from whyrank.interventions.plan import SitePlan
from whyrank.interventions.several_paths import SeveralPaths
from whyrank.interventions.sweep import sweep
from whyrank.rankers.neural import NeuralRanker

if TYPE_CHECKING:
    import pandas as pd

#: How the search ended where there was none.
NO_SEARCH = "there was no search; the direct paths to the logits are for the test of scoring heads"
Sets = Mapping[str, Sequence[MinimalPair]]
Frames = Mapping[str, "pd.DataFrame"]


def selective_search(
    ranker: NeuralRanker,
    sets: Sets,
    how: Search,
    *,
    shards: Path | None = None,
    progress: OpenProgress = no_progress,
) -> Found:
    """The heads that several sets of aligned pairs (terms, synonyms) select, and the paths among them."""
    check_sets(sets)
    selection = select_heads(
        ranker, Halves.drawn(sets, how.pairs_to_select, how.seed), how.criterion, seed=how.seed,
        shards=shards and shards / "heads", progress=progress,
    )  # fmt: skip
    return hops(ranker, sets, how, selection, shards=shards, progress=progress)


def hops(
    ranker: NeuralRanker,
    sets: Sets,
    how: Search,
    selection: Selection | None = None,
    *,
    shards: Path | None = None,
    progress: OpenProgress = no_progress,
) -> Found:
    """The paths among the heads of a selection; without one, the direct paths to the logits alone."""
    return _Hops(ranker, sets, how, shards, progress).found(selection)


@dataclass(frozen=True)
class _Hop:
    """The receivers of one kind, and the receivers' site set; `part` None is the logits."""

    number: int
    receivers: tuple[Head, ...]
    part: str | None

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(map(str, self.receivers)) or (LOGITS,)

    @property
    def site(self) -> str:
        return LOGITS if self.part is None else str(together(self.receivers, self.part))


class _Hops:
    """The search while it goes on."""

    def __init__(
        self, ranker: NeuralRanker, sets: Sets, how: Search, shards: Path | None, progress: OpenProgress
    ) -> None:
        self.ranker, self.how, self.shards, self.progress = ranker, how, shards, progress
        self.to_logits = Halves.drawn(sets, how.pairs_to_logits, how.seed)
        self.to_heads = Halves.drawn(sets, how.pairs_to_heads, how.seed)
        self.steps: list[Step] = []
        self.edges: list[Edge] = []

    def found(self, selection: Selection | None) -> Found:
        self._step(0, ())
        if selection is None:
            return Found(tuple(self.steps), tuple(self.edges), NO_SEARCH)
        members = set(selection.members)
        seen = members & self._senders()
        frontier, number = sorted(seen), 0
        while frontier and number < self.how.most_steps:
            number += 1
            self._step(number, tuple(frontier))
            frontier = sorted((members & self._senders()) - seen)
            seen |= set(frontier)
        ended = f"after {number} steps, as asked" if frontier else "no new head of the circuit sends"
        return Found(tuple(self.steps), tuple(self.edges), ended, selection)

    def _senders(self) -> set[Head]:
        return {Head.parse(edge.sender) for edge in self.edges if edge.is_kept and edge.sender != EMBED}

    def _step(self, number: int, receivers: tuple[Head, ...]) -> None:
        """All senders to the logits, or to the values, queries and keys of the receivers, each apart."""
        each = [_Hop(number, receivers, part) for part in (PARTS if receivers else (None,))]
        pairs = self.to_heads if receivers else self.to_logits
        path = self._path(receivers)
        senders = [SiteSet((head.site(),)) for head in all_heads(self.ranker.encoder)]
        senders = [one for one in senders if path.reached_from(one)]
        if receivers:
            senders.append(SiteSet((Site(EMBED),)))
        names = list(map(str, senders))
        first = _Half(self, number, "selection", pairs.selection, senders, path, each)
        choices = {hop: self._chosen(first.sums(hop, names), names, pairs.tested) for hop in each}
        wanted = {names[i] for choice in choices.values() for i in choice.chosen}
        second = None
        if pairs.tested and wanted:
            some = [one for one in senders if str(one) in wanted]
            second = _Half(self, number, "confirmation", pairs.confirmation, some, path, each)
        for hop, choice in choices.items():
            self._add(hop, names, choice, first, second)

    def _path(self, receivers: Sequence[Head]) -> PathPatching | SeveralPaths:
        if not receivers:
            return PathPatching(freeze_mlp=self.how.freeze_mlp)
        return SeveralPaths(tuple(together(receivers, part) for part in PARTS), freeze_mlp=self.how.freeze_mlp)

    def _chosen(self, sums: Mapping[str, QuerySums], names: Sequence[str], tested: bool) -> Choice:
        usual = np.array([name != EMBED for name in names])
        usual = usual if usual.any() else ~usual
        return self.how.criterion.of_edges().choose(sums, usual, tested)

    def _add(self, hop: _Hop, names: Sequence[str], choice: Choice, first: _Half, second: _Half | None) -> None:
        """Adds the hop's step and its edges."""
        chosen = [names[i] for i in choice.chosen]
        before = first.sums(hop, names)
        after = second.sums(hop, chosen) if second and chosen else {}
        found = choice.confirmed(after) if after else choice.untested()
        shares = _Shares.of(before, choice, self.how.seed)
        measured = _Shares.of(after, choice, self.how.seed) if after else shares.only(choice.chosen)
        self.edges += [
            _edge(hop, names[one.number], one, measured, place, shares.of_gap[one.number])
            for place, one in enumerate(found)
        ]
        whole = all_sets(list(before.values()))
        plain = {name.removesuffix(".z"): one.value for name, one in zip(names, shares.of_gap, strict=True)}
        heads = [abs(value or 0.0) for name, value in plain.items() if name != EMBED]
        self.steps.append(
            Step(
                number=hop.number, receivers=hop.names, part=hop.part, cutoff=None, largest=max(heads,
                default=0.0), pairs={name: int(one.pairs.sum()) for name, one in before.items()},
                queries=whole.queries, shares=plain, followed=len(names),
                between_sets=sets_correlation(first.frames(hop), self.how.seed),
                carried={name: _carried(one, choice, name) for name, one in before.items()},
                confirmed_on={name: int(one.pairs.sum()) for name, one in after.items()},
            )
        )  # fmt: skip


class _Half:
    """The rows of a step on one half of the queries, and what the receivers carry there."""

    def __init__(
        self, search: _Hops, number: int, name: str, sets: Sets, senders: Sequence[SiteSet], path: Intervention,
        each: Sequence[_Hop],
    ) -> None:  # fmt: skip
        self.sets, folder = sets, None if search.shards is None else search.shards / f"{number}-{name}"
        every = [pair for pairs in sets.values() for pair in pairs]

        def swept(title: str, sites: Sequence[SiteSet], how: Intervention, kind: str) -> pd.DataFrame:
            shards = folder and folder / kind
            with search.progress(f"step {number}, {name}: {title}", len(every)) as advance:
                return sweep(
                    search.ranker, every, SitePlan(tuple(sites)), how, shards=shards, progress=advance
                ).frame

        self.rows = swept(f"{len(senders)} senders", senders, path, "senders")
        self.wholes: dict[str, dict[str, float]] = {}
        wholes = [together(hop.receivers, hop.part) for hop in each if hop.part]
        if wholes:
            carried = swept("what the receivers carry", wholes, Activation(), "carried")
            self.wholes = {
                str(site): dict(zip(rows["pair"], rows["effect"].astype(float), strict=True))
                for site, rows in carried.groupby("site")
            }

    def frames(self, hop: _Hop) -> Frames:
        return by_set(self.rows[self.rows["receiver"] == hop.site], self.sets)

    def sums(self, hop: _Hop, sites: Sequence[str]) -> dict[str, QuerySums]:
        """By set, of these senders; a set without pairs on this half is not there."""
        whole = self.wholes.get(hop.site)
        return {
            name: QuerySums.of(rows, list(sites), whole) for name, rows in self.frames(hop).items() if len(rows)
        }


@dataclass(frozen=True)
class _Shares:
    """The candidates' shares of the gap and of what the receivers carry: over all deciding sets, and in each
    set."""

    of_gap: list[Estimate]
    of_whole: list[Estimate]
    gap_by_set: dict[str, list[float | None]]
    whole_by_set: dict[str, list[float | None]]

    @classmethod
    def of(cls, sums: Mapping[str, QuerySums], choice: Choice, seed: int) -> _Shares:
        every = all_sets([sums[name] for name in choice.deciding] or list(sums.values()))
        return cls(
            every.shares(every.gap, seed), every.shares(every.whole, seed),
            {name: _ratios(one, one.gap) for name, one in sums.items()},
            {name: _ratios(one, one.whole) for name, one in sums.items()},
        )  # fmt: skip

    def only(self, some: Sequence[int] | np.ndarray) -> _Shares:
        """Of some candidates."""
        return _Shares(
            [self.of_gap[i] for i in some], [self.of_whole[i] for i in some],
            {name: [values[i] for i in some] for name, values in self.gap_by_set.items()},
            {name: [values[i] for i in some] for name, values in self.whole_by_set.items()},
        )  # fmt: skip


def _ratios(sums: QuerySums, of: np.ndarray) -> list[float | None]:
    below = float(of.sum()) if sums.is_there(of) else math.nan
    return [finite(float(value) / below) for value in sums.effect.sum(axis=0)]


def _edge(hop: _Hop, sender: str, found: Confirmation, measured: _Shares, place: int, chosen: Estimate) -> Edge:
    return Edge(
        step=hop.number, sender=sender.removesuffix(".z"), receivers=hop.names, part=hop.part,
        share=measured.of_gap[place], support=None, status=found.status,
        by_set={name: values[place] for name, values in measured.gap_by_set.items()},
        share_of_receivers=measured.of_whole[place],
        by_set_of_receivers={name: values[place] for name, values in measured.whole_by_set.items()},
        chosen_share=chosen.value, p_holm=found.p_holm,
    )  # fmt: skip


def _carried(sums: QuerySums, choice: Choice, name: str) -> Carried:
    """What the receivers carry of a set's gap, and the least share of it that counts."""
    ratio = QuerySums(sums.names, sums.whole[:, None], sums.gap, sums.gap, sums.size, sums.pairs)
    whole = abs(float(sums.whole.sum() / sums.pairs.sum()))
    cutoff = finite(choice.cutoffs[name] / whole) if whole else None
    return Carried(ratio.shares(sums.gap)[0], cutoff, choice.refused[name])
