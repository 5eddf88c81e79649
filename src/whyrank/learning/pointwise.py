"""Learning one pair at a time: the sigmoid of a cross-encoder's logit against relevant (1) or not (0).

loss = mean over the batch of (sigmoid(s(q, d)) - y)^2
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from whyrank.encoders.inputs import Inputs
from whyrank.learning.material import Material
from whyrank.learning.optimisation import Learner, NotFinite
from whyrank.learning.pairs_to_learn import Example, PairsToLearn
from whyrank.learning.seeding import seeded
from whyrank.rankers.cross_encoder import CrossEncoder

#: Told the epoch, the step in it (from 1) and the mean loss of the epoch so far.
Watch = Callable[[int, int, float], object]


def mse_on_sigmoid(logits: Tensor, labels: Tensor) -> Tensor:
    """The mean of (sigmoid(logit) - label)^2."""
    return (torch.sigmoid(logits) - labels).square().mean()


def module_logits(ranker: CrossEncoder, inputs: Inputs) -> Tensor:
    """The scores [B] by the checkpoint's own forward pass, which drops out in training; see `CrossEncoder` for
    what they are where there are two labels."""
    arguments = {"input_ids": inputs.ids, "attention_mask": inputs.attention_mask.long()}
    if "token_type_ids" in inspect.signature(ranker.model.forward).parameters:
        arguments["token_type_ids"] = inputs.types
    logits = ranker.model(**arguments).logits
    return logits[:, 0] if logits.shape[1] == 1 else logits[:, 1] - logits[:, 0]


@dataclass(frozen=True)
class PointwiseEpochs:
    """The epochs of a pointwise training with one seed."""

    ranker: CrossEncoder
    material: Material
    pairs: PairsToLearn
    batch: int
    seed: int
    watch: Watch | None = None

    def train(self, learner: Learner, epoch: int) -> float:
        """Learns from each example of the epoch once; gives the mean loss over the examples."""
        learner.module.train()
        total, seen = 0.0, 0
        with seeded(self.seed, epoch):
            for step, examples in enumerate(self.pairs.batches(self.seed, epoch, self.batch), start=1):
                total += self._step(learner, examples, f"epoch {epoch}, step {step}") * len(examples)
                seen += len(examples)
                if self.watch:
                    self.watch(epoch, step, total / seen)
        return total / seen

    def _step(self, learner: Learner, examples: Sequence[Example], where: str) -> float:
        try:
            return learner.step(self.loss(examples))
        except NotFinite as error:
            raise NotFinite(f"{error} in {where}") from error

    def loss(self, examples: Sequence[Example]) -> Tensor:
        texts = [self.material.pair(example.qid, example.docno) for example in examples]
        logits = module_logits(self.ranker, self.ranker.batch(self.ranker.pieces.pairs(texts)))
        labels = torch.tensor([example.label for example in examples], device=logits.device)
        return mse_on_sigmoid(logits, labels)
