"""A minimal pair opened in one ranker: both runs recorded, ready for every intervention."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from whyrank.axioms.pair import MinimalPair
from whyrank.axioms.realise import realise_for_patching
from whyrank.encoders.site import SiteSet
from whyrank.interventions.recording import Recording
from whyrank.rankers.neural import NeuralRanker, ReadOut, no_gradients

#: Tokens of all variants in one batch: few enough that a layer's activations stay near the cores. It bounds the
#: memory, too, whatever the sweep.
TOKENS_AT_ONCE = 2048


@dataclass(frozen=True)
class OpenedPair:
    """The recorded runs and scores of the two sides of an aligned pair, and each token's category.

    `side` says which encoder of a two-sided ranker reads the texts that differ.
    """

    ranker: NeuralRanker
    pair: MinimalPair
    side: str
    names: list[str]
    baseline_run: Recording
    perturbed_run: Recording
    read_out: ReadOut
    baseline: float
    perturbed: float

    @classmethod
    def of(cls, ranker: NeuralRanker, pair: MinimalPair, side: str = "document") -> OpenedPair:
        """Realises the pair for this ranker (CannotAlign if it cannot be) and runs both sides in one batch."""
        realised = realise_for_patching(pair, ranker, side)
        read_out = ranker.read_out_for(realised.texts[0], side)
        with no_gradients():
            inputs = ranker.opened_inputs(realised.texts, side)
            runs = Recording.each(ranker.encoder, inputs, ranker.rows)
            scores = [read_out(_last(run), run.inputs)[0].item() for run in runs]
        missing = inputs.ids.shape[1] - len(realised.names)  # tokens that the model adds after the text
        names = [*realised.names, *["sep"] * missing]
        return cls(ranker, pair, side, names, runs[0], runs[1], read_out, scores[0], scores[1])

    @cached_property
    def categories(self) -> dict[str, Tensor]:
        """Which positions [S] each category means."""
        return {name: torch.tensor([one == name for one in self.names]) for name in dict.fromkeys(self.names)}

    def runs(self, direction: str) -> tuple[Recording, Recording]:
        """(target, source): the run that is patched, and the one that values come from."""
        both = (self.baseline_run, self.perturbed_run)
        return both if direction == "denoise" else (both[1], both[0])

    def scores_of(
        self, patches: Sequence[SiteSet], states: Callable[[Sequence[SiteSet]], Tensor], direction: str
    ) -> Tensor:
        """The scores [V] of the states that `states` makes of the patches, those of like layers in one batch."""
        target, _ = self.runs(direction)
        size = max(1, TOKENS_AT_ONCE // len(target))
        order = sorted(range(len(patches)), key=lambda i: min((s.layer or 0 for s in patches[i]), default=0))
        found = torch.empty(len(patches))
        with no_gradients():
            for start in range(0, len(order), size):
                some = order[start : start + size]
                made = states([patches[i] for i in some])
                found[some] = self.read_out(made, target.inputs.repeated(len(some))).cpu()
        return found


def _last(run: Recording) -> Tensor:
    """What the read-out reads of a recorded run: [1, S or rows, d]."""
    return run.encoder.anatomy.final_norm(run.resid[-1][None])
