"""A minimal pair opened in one ranker: both runs recorded, ready for every intervention."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields

import torch
from torch import Tensor

from whyrank.axioms.pair import MinimalPair
from whyrank.encoders.site import SiteSet
from whyrank.interventions.prepared import TOKENS_AT_ONCE, PreparedPair
from whyrank.interventions.recording import Recording
from whyrank.rankers.neural import NeuralRanker, no_gradients


@dataclass(frozen=True)
class OpenedPair(PreparedPair):
    """A prepared pair with the recorded runs and scores of both sides."""

    baseline_run: Recording
    perturbed_run: Recording
    baseline: float
    perturbed: float

    @classmethod
    def of(cls, ranker: NeuralRanker, pair: MinimalPair, side: str = "document") -> OpenedPair:
        (one,) = cls.record([PreparedPair.of(ranker, pair, side)])
        return one

    @classmethod
    def record(cls, group: Sequence[PreparedPair]) -> list[OpenedPair]:
        """Runs both sides of all pairs of a group in one pass."""
        ranker = group[0].ranker
        with no_gradients():
            inputs = [one.inputs for one in group]
            runs = Recording.each(ranker.encoder, inputs, ranker.rows, all_layers=ranker.reads_all_layers)
            return [cls._of_runs(one, *both) for one, both in zip(group, runs, strict=True)]

    @classmethod
    def _of_runs(cls, one: PreparedPair, baseline: Recording, perturbed: Recording) -> OpenedPair:
        states = torch.stack([baseline.to_read_out(), perturbed.to_read_out()])
        known = {field.name: getattr(one, field.name) for field in fields(PreparedPair)}
        before, after = one.scores(states)
        return cls(**known, baseline_run=baseline, perturbed_run=perturbed, baseline=before, perturbed=after)

    def runs(self, direction: str) -> tuple[Recording, Recording]:
        """(target, source): the run that is changed, and the one that values come from."""
        both = (self.baseline_run, self.perturbed_run)
        return both if direction == "denoise" else (both[1], both[0])

    def own_score(self, direction: str) -> float:
        """The score of the run that is changed, before it is."""
        return self.baseline if direction == "denoise" else self.perturbed

    def scores_of(
        self,
        patches: Sequence[SiteSet],
        states: Callable[[Sequence[SiteSet]], Tensor],
        direction: str,
        each: int = 1,
    ) -> Tensor:
        """The scores [V] of the states that `states` makes of the patches, those of like layers in one batch; or
        [each * V], when it makes as many states `each` time for all of them."""
        target, _ = self.runs(direction)
        size = max(1, TOKENS_AT_ONCE // len(target))
        order = sorted(range(len(patches)), key=lambda i: min((s.layer or 0 for s in patches[i]), default=0))
        found = torch.empty(each, len(patches))
        with no_gradients():
            for start in range(0, len(order), size):
                some = order[start : start + size]
                made = states([patches[i] for i in some])
                found[:, some] = self.read_out(made, target.inputs.repeated(len(made))).cpu().view(each, -1)
        return found.flatten()
