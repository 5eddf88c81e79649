"""Activation patching: a value of one run put into another, and what that does to the score.

    effect = score(target run with the source's value at the sites) - score(target run)

`denoise` puts the perturbed run's values into the baseline run: what is sufficient to bring the change about;
`noise` puts the baseline's into the perturbed run: what is necessary for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from whyrank.encoders.site import SiteSet
from whyrank.interventions.intervention import Intervention
from whyrank.interventions.one_row import is_one_row, one_row_states
from whyrank.interventions.opened import OpenedPair
from whyrank.interventions.prepared import TOKENS_AT_ONCE
from whyrank.interventions.wavefront import patched_states
from whyrank.rankers.neural import no_gradients


@dataclass(frozen=True)
class Activation(Intervention):
    """The intervention: exact, by a walk up the layers, and by one changed row where one position is patched."""

    direction: str = "denoise"
    method = "activation"

    def inputs(self) -> list[object]:
        return [self.method, self.direction]

    def scores(self, opened: OpenedPair, patches: Sequence[SiteSet]) -> Tensor:
        if opened.ranker.reads_all_layers:
            return self._walked(opened, patches)
        single = [i for i, patch in enumerate(patches) if len(patch.sites) == 1 and is_one_row(patch.sites[0])]
        others = sorted(set(range(len(patches))) - set(single))
        found = torch.empty(len(patches))
        found[others] = self._walked(opened, [patches[i] for i in others])
        found[single] = self._one_row(opened, [patches[i] for i in single])
        return found

    def _walked(self, opened: OpenedPair, patches: Sequence[SiteSet]) -> Tensor:
        target, source = opened.runs(self.direction)
        return opened.scores_of(
            patches, lambda some: patched_states(target, source, some, opened.categories), self.direction
        )

    def _one_row(self, opened: OpenedPair, patches: Sequence[SiteSet]) -> Tensor:
        target, source = opened.runs(self.direction)
        sites = [patch.sites[0] for patch in patches]
        found = torch.full((len(patches),), opened.own_score(self.direction))
        with no_gradients():
            for some, states in one_row_states(target, source, sites, TOKENS_AT_ONCE):
                found[some] = opened.read_out(states, target.inputs.repeated(len(some))).cpu()
        return found
