"""Which heads belong to a circuit: by their total effect on the score, chosen on one half of the queries and
confirmed on the other (`criterion` says how).

The total effect is that of activation patching: the baseline's score with a head's output taken from the perturbed
run, everything above recomputed. All heads are patched exactly on the selection half, those chosen on the other. A
screen by integrated gradients would save little (8 steps cost about two thirds of exact patching of all 144 heads,
here), so it only is reported how well it agrees.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from whyrank.axioms.pair import MinimalPair
from whyrank.circuits.criterion import Choice, Confirmation, Criterion
from whyrank.circuits.halves import Halves, evenly
from whyrank.circuits.head import Head, all_heads
from whyrank.circuits.query_sums import QuerySums
from whyrank.circuits.selected import Agreement, InSet, SelectedHead, Selection, SelectionSet
from whyrank.core.errors import UserError
from whyrank.core.progress import OpenProgress, no_progress
from whyrank.encoders.site import SiteSet
from whyrank.evaluation.estimate import Estimate, finite
from whyrank.evaluation.interval import TOO_FEW
from whyrank.evaluation.map_correlation import map_correlation
from whyrank.interventions.activation import Activation
from whyrank.interventions.attribution import Attribution
from whyrank.interventions.intervention import Intervention
from whyrank.interventions.plan import SitePlan
from whyrank.interventions.sweep import sweep
from whyrank.rankers.neural import NeuralRanker

if TYPE_CHECKING:
    import pandas as pd

#: Pairs that integrated gradients are compared on, and their steps.
COMPARED, STEPS = 24, 8
Frames = Mapping[str, "pd.DataFrame"]


def select_heads(
    ranker: NeuralRanker,
    pairs: Halves,
    criterion: Criterion,
    *,
    seed: int = 0,
    shards: Path | None = None,
    progress: OpenProgress = no_progress,
) -> Selection:
    """The heads chosen on the selection half, and what the other half says."""
    return _Selecting(ranker, pairs, criterion, seed, shards, progress).selection()


@dataclass(frozen=True)
class _Selecting:
    ranker: NeuralRanker
    pairs: Halves
    criterion: Criterion
    seed: int
    shards: Path | None
    progress: OpenProgress

    def selection(self) -> Selection:
        heads = all_heads(self.ranker.encoder)
        first = self._patched("selection", self.pairs.selection, heads)
        sums = _sums(first, heads)
        choice = self.criterion.choose(sums, np.ones(len(heads), dtype=bool), self.pairs.tested)
        self._check(choice, sums)
        chosen = [heads[i] for i in choice.chosen]
        second: dict[str, QuerySums] = {}
        found = choice.untested()
        if self.pairs.tested and chosen:
            second = _sums(self._patched("confirmation", self.pairs.confirmation, chosen), chosen)
            found = choice.confirmed(second)
        return Selection(
            str(self.criterion),
            self.pairs.tested,
            {name: self._set(name, sums.get(name), choice) for name in self.pairs.selection},
            self._heads(heads, choice, found, sums, second),
            {name: _shares(one, heads) for name, one in sums.items()},
            self._gradients(first, heads, chosen),
        )

    def _patched(
        self, name: str, sets: Mapping[str, Sequence[MinimalPair]], heads: Sequence[Head],
        how: Intervention | None = None,
    ) -> Frames:  # fmt: skip
        """The rows of each set."""
        every = [pair for pairs in sets.values() for pair in pairs]
        plan = SitePlan(tuple(SiteSet((head.site(),)) for head in heads))
        folder = None if self.shards is None else self.shards / name
        with self.progress(f"{name}: {len(heads)} heads to the score", len(every)) as advance:
            frame = sweep(self.ranker, every, plan, how or Activation(), shards=folder, progress=advance).frame
        return by_set(frame, sets)

    def _check(self, choice: Choice, sums: Mapping[str, QuerySums]) -> None:
        """Raises where no set can decide."""
        if choice.deciding:
            return
        if not any(one.is_there(one.gap) for one in sums.values()):
            raise UserError(
                "both sides of the pairs score the same: there is no gap that a circuit could carry",
                todo="give pairs whose sides differ",
            )
        whys = "; ".join(f"{name}: {why}" for name, why in choice.refused.items())
        raise UserError(f"no set of pairs can decide which heads matter ({whys})", todo="give more pairs")

    def _set(self, name: str, sums: QuerySums | None, choice: Choice) -> SelectionSet:
        sides = [self.pairs.selection[name], self.pairs.confirmation[name]][: 1 + self.pairs.tested]
        counts = tuple(map(len, sides)), tuple(len({pair.qid or pair.id for pair in some}) for some in sides)
        if sums is None:
            return SelectionSet(Estimate.undefined(), None, None, *counts, TOO_FEW)
        gap = sums.mean(sums.gap)
        size = abs(gap.value) if gap.value else math.nan
        cutoff, usual = (finite(scale[name] / size) for scale in (choice.cutoffs, choice.scales))
        return SelectionSet(gap, cutoff, usual, *counts, choice.refused[name])

    def _heads(
        self, heads: Sequence[Head], choice: Choice, found: Sequence[Confirmation],
        first: Mapping[str, QuerySums], second: Mapping[str, QuerySums],
    ) -> tuple[SelectedHead, ...]:  # fmt: skip
        there = {name: one.only(choice.chosen) for name, one in first.items()}
        before = {name: one.shares(one.gap, self.seed) for name, one in there.items()}
        after = {name: one.shares(one.gap, self.seed) for name, one in second.items()}
        return tuple(
            SelectedHead(
                str(heads[one.number]), finite(float(choice.standing[one.number])), int(choice.sign[one.number]),
                one.status, one.p, one.p_holm,
                {name: InSet(before[name][i], _at(after, name, i), one.by_set.get(name)) for name in first},
            )
            for i, one in enumerate(found)
        )  # fmt: skip

    def _gradients(self, exact: Frames, heads: Sequence[Head], chosen: Sequence[Head]) -> Agreement:
        """Integrated gradients on a few pairs of the selection half."""
        each = -(-COMPARED // len(self.pairs.selection))
        some = {name: evenly(pairs, each, self.seed) for name, pairs in self.pairs.selection.items()}
        rough = self._patched("integrated gradients", some, heads, Attribution(steps=STEPS))
        ids = {pair.id for pairs in some.values() for pair in pairs}
        maps = [
            {name: one.effect.sum(axis=0) for name, one in _sums(frames, heads).items()}
            for frames in (rough, {name: frame[frame["pair"].isin(ids)] for name, frame in exact.items()})
        ]
        size = np.min([np.abs(one) / max(np.abs(one).max(), 1e-30) for one in maps[0].values()], axis=0)
        kept = -(-len(heads) // 3)
        screen = {heads[i] for i in np.argsort(-size, kind="stable")[:kept]}
        r = {name: finite(map_correlation(maps[0][name], maps[1][name])) for name in some}
        return Agreement(STEPS, len(ids), r, kept, len(screen & set(chosen)))


def by_set(frame: pd.DataFrame, sets: Mapping[str, Sequence[MinimalPair]]) -> dict[str, pd.DataFrame]:
    """The rows of each set's pairs."""
    return {name: frame[frame["pair"].isin([pair.id for pair in pairs])] for name, pairs in sets.items()}


def _sums(frames: Frames, heads: Sequence[Head]) -> dict[str, QuerySums]:
    sites = [str(SiteSet((head.site(),))) for head in heads]
    return {name: QuerySums.of(frame, sites) for name, frame in frames.items() if len(frame)}


def _shares(sums: QuerySums, heads: Sequence[Head]) -> dict[str, float | None]:
    gap = sums.gap.sum() if sums.is_there(sums.gap) else math.nan
    return {str(head): finite(float(sums.effect[:, i].sum() / gap)) for i, head in enumerate(heads)}


def _at(shares: Mapping[str, Sequence[Estimate]], name: str, place: int) -> Estimate | None:
    return shares[name][place] if name in shares else None
