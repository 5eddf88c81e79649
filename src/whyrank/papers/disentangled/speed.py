"""How fast models learn and score on this machine, measured on a few of a study's own documents."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import NamedTuple

import torch

from whyrank.learning.models.network import TransformerNetwork
from whyrank.learning.optimisation import seeded
from whyrank.learning.pairwise import Learners
from whyrank.learning.plan import Plan
from whyrank.papers.disentangled.what_is_read import sampled_pairs

#: Documents that the speed is measured on.
TIMED = 16


class Speed(NamedTuple):
    """Sequences a second, read in training and to be scored."""

    learned: float
    scored: float

    def __str__(self) -> str:
        return f"learns from {self.learned:.0f} sequences a second and scores {self.scored:.0f}"


def speed_of(plan: Plan, workers: int | None = None) -> Speed:
    """Of the plan's network on some of its test queries' candidates; of all workers together that have a core."""
    with _threads(1 if workers else torch.get_num_threads()):
        alone = _measured(plan)
    together = min(workers or 1, os.cpu_count() or 1)
    return Speed(together * alone.learned, together * alone.scored)


def _measured(plan: Plan) -> Speed:
    found = sampled_pairs(plan.material, [qid for split in plan.splits for qid in split.test], TIMED // 2)
    texts, queries = found * 2, list(range(len(found))) * 2
    network = plan.new_network(plan.seeds[0])
    assert isinstance(network, TransformerNetwork)
    learner = Learners.of(network, plan.settings, steps=2).own
    batch = network.read(texts)

    def learn() -> None:  # whatever the loss is: one that is no number is the training's to tell
        losses = network.losses(network.output(batch), queries).values()
        learner.start()
        torch.stack(list(losses)).sum().backward()
        learner.optimiser.step()

    def score() -> None:
        with torch.no_grad():
            network.output(batch)

    with seeded(plan.seeds[0]):
        network.train()
        learning = _seconds(learn)
        network.eval()
        return Speed(len(batch.inputs.ids) / learning, len(batch.inputs.ids) / _seconds(score))


def _seconds(work: Callable[[], None]) -> float:
    """Of the second time: the first has more to prepare."""
    work()
    start = perf_counter()
    work()
    return max(perf_counter() - start, 1e-9)


@contextmanager
def _threads(count: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
