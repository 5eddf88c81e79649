"""How much work a study is, before it begins: trainings, documents to read, hours at a speed that is measured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from whyrank.learning.plan import Plan
from whyrank.papers.disentangled.sizes import WORD_MODELS
from whyrank.papers.disentangled.speed import Speed
from whyrank.papers.disentangled.trainings import Ground
from whyrank.papers.disentangled.variants import VARIANTS, Variant

#: Models with a word graph; they are about as fast as one another, and so are the other transformers.
GRAPHS = ("lgre", "dgre")


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

    def said(self, speeds: Mapping[str, Speed]) -> str:
        """For the console."""
        measured = "; ".join(f"{VARIANTS[name].title} {speed}" for name, speed in speeds.items())
        how = f", measured now: {measured}; what is done to trained models comes on top" if measured else ""
        return (
            f"{self.jobs} trainings to do: {self.documents.learned} documents to learn from and "
            f"{self.documents.scored} to score by transformers, about {self.hours(speeds):.1f} hours{how}"
        )


def work_of(ground: Ground, plan: Plan, seeds: Mapping[Variant, int]) -> Work:
    """Of so many seeds of each variant, should no training stop early; `plan` is that of any of them."""
    once, documents = documents_of(plan), Reading()
    sequences: dict[str, Reading] = {}
    for one, count in seeds.items():
        if one.model not in WORD_MODELS:
            documents += once * count
            name, chunks = _stands_for(one, seeds).name, ground.settings_of(one)["chunks"]
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
