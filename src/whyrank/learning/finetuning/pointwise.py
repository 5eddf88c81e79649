"""Learning one pair at a time: the sigmoid of a cross-encoder's logit against relevant (1) or not (0).

loss = mean over the batch of (sigmoid(s(q, d)) - y)^2
"""

from __future__ import annotations

import inspect
import math
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from whyrank.encoders.inputs import Inputs
from whyrank.learning.material import Material
from whyrank.learning.optimisation import Learner, NotFinite, seeded
from whyrank.rankers.cross_encoder import CrossEncoder

#: Called with the epoch, the step in it (from 1) and the mean loss of the epoch so far, by name.
OnStep = Callable[[int, int, dict[str, float]], object]


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
    on_step: OnStep | None = None

    def train(self, learner: Learner, epoch: int) -> float:
        """Learns from each example of the epoch once; returns the mean loss over the examples."""
        learner.module.train()
        total, seen = 0.0, 0
        with seeded(self.seed, epoch):
            for step, examples in enumerate(self.pairs.batches(self.seed, epoch, self.batch), start=1):
                total += self._step(learner, examples, f"epoch {epoch}, step {step}") * len(examples)
                seen += len(examples)
                if self.on_step:
                    self.on_step(epoch, step, {"loss": total / seen})
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


class Example(NamedTuple):
    """A document that is relevant to a query (label 1) or not (label 0)."""

    qid: str
    docno: str
    label: float


@dataclass(frozen=True)
class PairsToLearn:
    """For each query its positives, the documents its negatives are drawn from, and how many a positive gets; at
    most `most` positives of a query in an epoch, drawn anew for each.

    A negative is never another positive of the query. Where a query has fewer, it gets those it has.
    """

    queries: tuple[PositivesAndPool, ...]
    negatives: int = 3
    most: int | None = None

    @classmethod
    def of(
        cls,
        material: Material,
        qids: Iterable[str],
        negatives: int = 3,
        most: int | None = None,
        documents: Sequence[str] | None = None,
    ) -> PairsToLearn:
        """Negatives are drawn from each query's candidates, or from `documents` for all queries alike."""
        if documents is None:
            queries = [PositivesAndPool(qid, material.positives[qid], material.negatives(qid)) for qid in qids]
            return cls(tuple(queries), negatives, most)
        known = set(documents)
        return cls(
            tuple(
                PositivesAndPool(qid, positives, documents, len(known.intersection(positives)))
                for qid, positives in ((qid, material.positives[qid]) for qid in qids)
            ),
            negatives,
            most,
        )

    def __len__(self) -> int:
        """Examples per epoch, the same in every epoch."""
        return sum(self._taken(one) * (1 + self._drawn(one)) for one in self.queries)

    @property
    def positives(self) -> int:
        """All that there are to learn from, over all epochs."""
        return sum(len(one.positives) for one in self.queries)

    def steps(self, batch: int) -> int:
        """Steps per epoch, in batches of so many examples."""
        return math.ceil(len(self) / batch)

    def batches(self, seed: int, epoch: int, batch: int) -> list[list[Example]]:
        """The examples of an epoch, some at a time."""
        examples = self.epoch(seed, epoch)
        return [examples[start : start + batch] for start in range(0, len(examples), batch)]

    def epoch(self, seed: int, epoch: int) -> list[Example]:
        """The examples of an epoch in the order they are learned, both decided by seed and epoch alone."""
        examples = [example for query in self.queries for example in self._examples(seed, epoch, query)]
        random.Random(f"order/{seed}/{epoch}").shuffle(examples)
        return examples

    def _examples(self, seed: int, epoch: int, query: PositivesAndPool) -> list[Example]:
        draw = random.Random(f"negatives/{seed}/{epoch}/{query.qid}")
        positives = query.positives
        if self._taken(query) < len(positives):
            chosen = random.Random(f"positives/{seed}/{epoch}/{query.qid}")
            positives = tuple(chosen.sample(positives, self._taken(query)))
        found: list[Example] = []
        for docno in positives:
            found.append(Example(query.qid, docno, 1.0))
            found += [Example(query.qid, other, 0.0) for other in query.draw(draw, self._drawn(query))]
        return found

    def _taken(self, query: PositivesAndPool) -> int:
        """Positives of a query in an epoch."""
        return len(query.positives) if self.most is None else min(self.most, len(query.positives))

    def _drawn(self, query: PositivesAndPool) -> int:
        """Negatives of each positive of a query."""
        return min(self.negatives, query.negatives)


class PositivesAndPool(NamedTuple):
    """A query's relevant documents, and the pool its negatives are drawn from, which holds `shared` of them."""

    qid: str
    positives: tuple[str, ...]
    pool: Sequence[str]
    shared: int = 0

    @property
    def negatives(self) -> int:
        """How many documents of the pool are not positive."""
        return len(self.pool) - self.shared

    def draw(self, draw: random.Random, count: int) -> list[str]:
        """Distinct documents of the pool, none of them positive."""
        drawn = draw.sample(self.pool, count + self.shared)
        return [docno for docno in drawn if docno not in self.positives][:count]
