"""How much work a study is, before it begins: trainings, documents to read, hours at a speed that is measured."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from time import perf_counter

import torch

from whyrank.learning.models.network import TransformerNetwork
from whyrank.learning.training.plan import Plan
from whyrank.studies.disentangled.sizes import WORD_MODELS
from whyrank.studies.disentangled.trainings import Ground
from whyrank.studies.disentangled.variants import Variant
from whyrank.studies.disentangled.what_is_read import sampled_pairs

#: A step forward and backward takes as long as so many forward.
LEARNING = 3
#: Documents that the speed is measured on.
TIMED = 16


@dataclass(frozen=True)
class Work:
    """`jobs` trainings (a model, a fold, a seed); documents that they learn from and those that they score, by
    transformers; and the sequences that these are read in."""

    jobs: int
    learned: int
    scored: int
    learned_sequences: int
    scored_sequences: int

    def hours(self, speed: float) -> float:
        """At so many sequences forward a second."""
        return (LEARNING * self.learned_sequences + self.scored_sequences) / speed / 3600

    def said(self, speed: float) -> str:
        """For the console."""
        return (
            f"{self.jobs} trainings to do: {self.learned} documents to learn from and {self.scored} to score, "
            f"about {self.hours(speed):.1f} hours or more at {speed:.0f} sequences a second (BERT forward, "
            "measured now; graphs take longer, and the opened models come on top)"
        )


def work_of(ground: Ground, plan: Plan, variants: Iterable[Variant]) -> Work:
    """Of variants whose training is not done, should no training stop early; `plan` is that of any of them."""
    learned, scored = documents_of(plan)
    jobs = {one: len(plan.splits) * len(ground.sizes.seeds_of(one, ground.seed)) for one in variants}
    counts = [0, 0, 0, 0]
    for one, number in jobs.items():
        if one.model not in WORD_MODELS:
            seeds, chunks = number // len(plan.splits), ground.settings_of(one)["chunks"]
            each = (learned * seeds, scored * seeds, learned * seeds * chunks, scored * seeds * chunks)
            counts = [a + b for a, b in zip(counts, each, strict=True)]
    return Work(sum(jobs.values()), *counts)


def documents_of(plan: Plan) -> tuple[int, int]:
    """Documents that one seed learns from, in pairs, and that it scores, to choose an epoch and to test."""
    epochs, depth = plan.settings.epochs, plan.settings.validation_depth
    learned = scored = 0
    for number, split in enumerate(plan.splits, start=1):
        learned += 2 * len(plan.pairs(number)) * epochs
        scored += sum(len(plan.material.candidates[qid][:depth]) for qid in split.validation) * (epochs + 1)
        scored += sum(len(plan.material.candidates[qid]) for qid in split.test)
    return learned, scored


def speed_of(plan: Plan, workers: int | None = None) -> float:
    """Sequences a second of the plan's network, on some of its test queries' candidates; of all workers together
    that have a core."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1 if workers else threads)
    try:
        return min(workers or 1, os.cpu_count() or 1) * _speed(plan)
    finally:
        torch.set_num_threads(threads)


def _speed(plan: Plan) -> float:
    pairs = sampled_pairs(plan.material, [qid for split in plan.splits for qid in split.test], TIMED)
    network = plan.new_network(plan.seeds[0]).eval()
    assert isinstance(network, TransformerNetwork)
    with torch.no_grad():
        network.output(network.read(pairs[:1]))
        batch, start = network.read(pairs), perf_counter()
        network.output(batch)
    return len(batch.inputs.ids) / max(perf_counter() - start, 1e-9)
