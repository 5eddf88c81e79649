"""Path patching from each sender to each of several sets of receivers, in one walk.

A sender's way up to the receivers (step 1, the larger part of the work) does not depend on which of them receive,
so a head's values, queries and keys can be asked for apart at little more than the price of one of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from whyrank.encoders.encoder import Encoder
from whyrank.encoders.site import SiteSet
from whyrank.interventions.intervention import Intervention
from whyrank.interventions.opened import OpenedPair
from whyrank.interventions.path import Frozen, PathPatching
from whyrank.interventions.wavefront import Wavefront


@dataclass(frozen=True)
class SeveralPaths(Intervention):
    """The intervention: for each set of receivers what `PathPatching` to it alone would give."""

    receivers: tuple[SiteSet, ...]
    freeze_mlp: bool = False
    direction: str = "denoise"
    method = "path"

    def inputs(self) -> list[object]:
        return [self.method, "each", list(map(str, self.receivers)), self.freeze_mlp, self.direction]

    def check(self, encoder: Encoder, senders: Sequence[SiteSet]) -> None:
        for one in self._each():
            one.check(encoder, senders)

    def reached_from(self, sender: SiteSet) -> bool:
        """Whether the sender is below some receiver of every set."""
        return all(one.reached_from(sender) for one in self._each())

    def _each(self) -> list[PathPatching]:
        return [PathPatching(one, self.freeze_mlp, self.direction) for one in self.receivers]

    def outcomes(self, patches: Sequence[SiteSet]) -> list[tuple[SiteSet, str | None]]:
        return [(patch, str(receivers)) for receivers in self.receivers for patch in patches]

    def scores(self, opened: OpenedPair, patches: Sequence[SiteSet]) -> Tensor:
        target, source = opened.runs(self.direction)
        union = SiteSet(tuple(dict.fromkeys(site for one in self.receivers for site in one)))

        def states(senders: Sequence[SiteSet]) -> Tensor:
            walk = Frozen(
                target, lambda _, site: source.value(site), senders, opened.categories, union, self.freeze_mlp
            )
            received = walk.received()
            made = [
                Wavefront(target, lambda i, site: received[site][i], [receivers] * len(senders), {}).run()
                for receivers in self.receivers
            ]
            return torch.cat(made)

        return opened.scores_of(patches, states, self.direction, each=len(self.receivers))
