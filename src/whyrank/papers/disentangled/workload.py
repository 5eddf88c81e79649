"""How much work a study is, before it begins: trainings, documents to read, hours at a speed that is measured on
this machine, on some of the study's own documents."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter
from typing import NamedTuple

import torch

from whyrank.learning.models.network import TransformerNetwork
from whyrank.learning.optimisation import seeded
from whyrank.learning.pairwise import Learners
from whyrank.learning.plan import Plan
from whyrank.papers.disentangled.sizes import WORD_MODELS
from whyrank.papers.disentangled.texts_read import sampled_pairs
from whyrank.papers.disentangled.trainings import TrainingSetup
from whyrank.papers.disentangled.variants import VARIANTS, Variant

#: Documents that the speed is measured on.
TIMED = 16
#: Models with a word graph; they are about as fast as one another, and so are the other transformers.
GRAPHS = ("lgre", "dgre")


class Speed(NamedTuple):
    """Sequences a second, read in training and to be scored."""

    learned: float
    scored: float

    def __str__(self) -> str:
        return f"learns from {self.learned:.0f} sequences a second and scores {self.scored:.0f}"


@dataclass(frozen=True)
class Reading:
    """What is learned from, and what is scored: of documents, or of the sequences that these are read in."""

    learned: int = 0
    scored: int = 0

    def __add__(self, other: Reading) -> Reading:
        return Reading(self.learned + other.learned, self.scored + other.scored)

    def __mul__(self, times: int) -> Reading:
        return Reading(self.learned * times, self.scored * times)

    def seconds(self, speed: Speed) -> float:
        return self.learned / speed.learned + self.scored / speed.scored


@dataclass(frozen=True)
class Work:
    """`jobs` trainings (a model, a fold, a seed); documents that transformers read; and the sequences that these
    are read in, by the variant whose speed stands for theirs."""

    jobs: int
    documents: Reading
    sequences: Mapping[str, Reading]

    def hours(self, speeds: Mapping[str, Speed]) -> float:
        return sum(reading.seconds(speeds[name]) for name, reading in self.sequences.items()) / 3600

    def text(self, speeds: Mapping[str, Speed]) -> str:
        """One line for the console."""
        measured = "; ".join(f"{VARIANTS[name].title} {speed}" for name, speed in speeds.items())
        how = f", measured now: {measured}; what is done to trained models comes on top" if measured else ""
        return (
            f"{self.jobs} trainings to do: {self.documents.learned} documents to learn from and "
            f"{self.documents.scored} to score by transformers, about {self.hours(speeds):.1f} hours{how}"
        )


def work_of(setup: TrainingSetup, plan: Plan, seeds: Mapping[Variant, int]) -> Work:
    """Of so many seeds of each variant, should no training stop early; `plan` is that of any of them."""
    once, documents = documents_of(plan), Reading()
    sequences: dict[str, Reading] = {}
    for one, count in seeds.items():
        if one.model not in WORD_MODELS:
            documents += once * count
            name, chunks = _stands_for(one, seeds).name, setup.sizes.how_read(one.model).chunks
            sequences[name] = sequences.get(name, Reading()) + once * (count * chunks)
    return Work(len(plan.splits) * sum(seeds.values()), documents, sequences)


def _stands_for(one: Variant, to_do: Iterable[Variant]) -> Variant:
    """The first of those to do that are about as fast; BERT and DGRe come before others."""
    alike = [other for other in to_do if other.model not in WORD_MODELS and _has_graph(other) == _has_graph(one)]
    return min(alike, key=lambda other: not other.leading)


def _has_graph(one: Variant) -> bool:
    return one.model in GRAPHS


def documents_of(plan: Plan) -> Reading:
    """Documents that one seed learns from, in pairs, and that it scores, to choose an epoch and to test."""
    epochs, depth = plan.settings.epochs, plan.settings.validation_depth
    learned = scored = 0
    for number, split in enumerate(plan.splits, start=1):
        learned += 2 * len(plan.pairs(number)) * epochs
        scored += sum(len(plan.material.candidates[qid][:depth]) for qid in split.validation) * (epochs + 1)
        scored += sum(len(plan.material.candidates[qid]) for qid in split.test)
    return Reading(learned, scored)


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

    def learn() -> None:  # whatever the loss is: the training reports a NaN loss
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
