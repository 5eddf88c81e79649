"""What every intervention is: something done to sites of one run of a pair, and the score that follows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Self

from torch import Tensor

from whyrank.core.errors import UserError
from whyrank.encoders.encoder import Encoder
from whyrank.encoders.site import SiteSet

if TYPE_CHECKING:
    from whyrank.interventions.opened import OpenedPair
    from whyrank.interventions.prepared import PreparedPair
    from whyrank.rankers.neural import NeuralRanker

#: `denoise` changes the baseline run, `noise` the perturbed one.
DIRECTIONS = ("denoise", "noise")


class Measured(NamedTuple):
    """The scores of both sides of a pair, and of its changed run under each patch [V]."""

    baseline: float
    perturbed: float
    patched: Tensor


class Intervention(ABC):
    """Something that can be done to sites."""

    method: ClassVar[str]
    direction: str

    @property
    def receiver(self) -> str | None:
        """What a path leads to, where there is one."""
        return None

    def check(self, encoder: Encoder, patches: Sequence[SiteSet]) -> None:
        """Raises when the encoder lacks a site, or this cannot be done to it."""
        if self.direction not in DIRECTIONS:
            raise UserError(f"unknown direction '{self.direction}'", todo=f"choose {' or '.join(DIRECTIONS)}")
        for site in (site for patch in patches for site in patch):
            site.check(encoder.layers, encoder.heads)
            if site.part == "logits":
                raise UserError("logits is the score itself", todo="it can receive (to='logits'), not be patched")

    def prepared(self, ranker: NeuralRanker, patches: Sequence[SiteSet], side: str) -> Self:
        """The same with what it has to measure first."""
        return self

    def outcomes(self, patches: Sequence[SiteSet]) -> list[tuple[SiteSet, str | None]]:
        """What the scores are of, in their order: each patch, and the receiver of its path."""
        return [(patch, self.receiver) for patch in patches]

    @abstractmethod
    def inputs(self) -> list[object]:
        """All that decides the result, beside the ranker, the pair and the sites."""

    @abstractmethod
    def scores(self, opened: OpenedPair, patches: Sequence[SiteSet]) -> Tensor:
        """The score [V] of an opened pair's changed run for each outcome of the patches."""

    def measure(self, group: Sequence[PreparedPair], patches: Sequence[Sequence[SiteSet]]) -> list[Measured]:
        """For each pair of a group, which has its own patches, both sides' scores and those under each patch."""
        from whyrank.interventions.opened import OpenedPair

        return [
            Measured(opened.baseline, opened.perturbed, self.scores(opened, some))
            for opened, some in zip(OpenedPair.record(group), patches, strict=True)
        ]
