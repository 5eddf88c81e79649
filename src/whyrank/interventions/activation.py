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

from whyrank.axioms.pair import MinimalPair
from whyrank.axioms.realise import realise, token_categories
from whyrank.encoders.site import SiteSet
from whyrank.errors import UserError
from whyrank.interventions.recording import Recording
from whyrank.interventions.wavefront import patched_states
from whyrank.rankers.neural import NeuralRanker, no_gradients

DIRECTIONS = ("denoise", "noise")
#: Values of the residual stream held for variants at once, in numbers; bounds the memory whatever the sweep.
NUMBERS_AT_ONCE = 16_000_000


@dataclass(frozen=True)
class Patched:
    """The scores of both sides of a pair, and of the target run under each patch [V]."""

    baseline: float
    perturbed: float
    patched: Tensor


def patch_pair(
    ranker: NeuralRanker, pair: MinimalPair, patches: Sequence[SiteSet], *, direction: str = "denoise"
) -> Patched:
    """Exact activation patching of the document side of one aligned pair."""
    if direction not in DIRECTIONS:
        raise UserError(f"unknown direction '{direction}'", todo=f"choose {' or '.join(DIRECTIONS)}")
    texts = realise(pair, ranker)
    named = token_categories(pair, ranker)
    categories = {name: torch.tensor([one == name for one in named]) for name in dict.fromkeys(named)}
    with no_gradients():
        runs = [Recording.of(ranker.encoder, ranker.opened_inputs([text])) for text in texts]
        target, source = runs if direction == "denoise" else runs[::-1]
        scores = [_read(ranker, run.resid[-1][None], run, text) for run, text in zip(runs, texts, strict=True)]
        text = texts[0] if direction == "denoise" else texts[1]
        size = max(1, NUMBERS_AT_ONCE // target.resid[0].numel())
        found = []
        for start in range(0, len(patches), size):
            some = patches[start : start + size]
            states = patched_states(target, source, some, rows=ranker.rows, categories=categories)
            found.append(ranker.score_states(states, target.inputs.repeated(len(some)), [text] * len(some)))
    return Patched(float(scores[0]), float(scores[1]), torch.cat(found) if found else torch.empty(0))


def _read(ranker: NeuralRanker, top: Tensor, run: Recording, text: tuple[str, str]) -> Tensor:
    """The score of a recorded run: its top state through the final norm and the read-out."""
    rows = top if ranker.rows is None else top[:, list(ranker.rows)]
    return ranker.score_states(ranker.encoder.anatomy.final_norm(rows), run.inputs, [text])[0]
