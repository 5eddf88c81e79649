"""A minimal pair as one ranker reads it, ready to be run: tokens, their categories, and how a score is read."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from whyrank.axioms.pair import MinimalPair
from whyrank.axioms.realise import ForPatching, realise_for_patching
from whyrank.encoders.inputs import Inputs
from whyrank.rankers.neural import NeuralRanker, ReadOut
from whyrank.rankers.ranker import ScoreNotFinite

#: Tokens of one batch: few enough that a layer's activations stay near the cores, enough to keep these busy. It
#: bounds the memory, too, however long the work.
TOKENS_AT_ONCE = 2048


@dataclass(frozen=True)
class PreparedPair:
    """An aligned pair: `inputs` are its two sequences of one length, baseline and perturbed; `names` the category
    of each token; `side` which encoder of a two-sided ranker reads the texts that differ."""

    ranker: NeuralRanker
    pair: MinimalPair
    side: str
    names: list[str]
    inputs: Inputs
    read_out: ReadOut

    @classmethod
    def of(cls, ranker: NeuralRanker, pair: MinimalPair, side: str = "document") -> PreparedPair:
        """Realises the pair for this ranker; CannotAlign if it cannot be."""
        ((one,),) = PreparedPair.groups(ranker, [pair], side)
        return one

    @classmethod
    def groups(
        cls, ranker: NeuralRanker, pairs: Sequence[MinimalPair], side: str = "document"
    ) -> Iterator[list[PreparedPair]]:
        """Pairs in their order, as many at once as `TOKENS_AT_ONCE` allows."""
        ranker.check_side(side)
        group: list[MinimalPair] = []
        realised: list[ForPatching] = []
        tokens = 0
        for pair in pairs:
            one = realise_for_patching(pair, ranker, side)
            if group and tokens + 2 * len(one.names) > TOKENS_AT_ONCE:
                yield PreparedPair._group(ranker, group, realised, side)
                group, realised, tokens = [], [], 0
            group.append(pair)
            realised.append(one)
            tokens += 2 * len(one.names)
        yield PreparedPair._group(ranker, group, realised, side)

    @classmethod
    def _group(
        cls, ranker: NeuralRanker, pairs: Sequence[MinimalPair], realised: Sequence[ForPatching], side: str
    ) -> list[PreparedPair]:
        read_outs, found = ranker.read_outs([one.texts.baseline for one in realised], side), []
        for pair, one, read_out in zip(pairs, realised, read_outs, strict=True):
            inputs = ranker.opened_inputs(one.texts, side)
            missing = inputs.ids.shape[1] - len(one.names)  # tokens that the model adds after the text
            assert missing >= 0, f"{ranker.name} reads fewer tokens of {pair.id} than it has categories"
            names = [*one.names, *["sep"] * missing]
            found.append(cls(ranker, pair, side, names, inputs, read_out))
        return found

    @cached_property
    def categories(self) -> dict[str, Tensor]:
        """Which positions [S] each category means."""
        return {name: torch.tensor([one == name for one in self.names]) for name in dict.fromkeys(self.names)}

    def scores(self, states: Tensor) -> tuple[float, float]:
        """The scores of both sides, from what the read-out reads of them: [2, S or rows, d] or [2, L', S, d]."""
        baseline, perturbed = self.read_out(states, self.inputs).tolist()
        self.check_finite("baseline", [baseline])
        self.check_finite("perturbed", [perturbed])
        return baseline, perturbed

    def check_finite(self, what: str, scores: Iterable[float]) -> None:
        """Raises ScoreNotFinite for a score of this pair that is NaN or infinite; `what` says which it is."""
        for score in scores:
            if not math.isfinite(score):
                raise ScoreNotFinite(
                    f"{self.ranker.name}: the score of pair {self.pair.id}, {what}, is {score}",
                    todo="the checkpoint is damaged: check its config and weights, or fetch it again",
                )
