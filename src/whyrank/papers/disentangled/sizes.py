"""How much of everything a study of DGRe does, and the settings of each model that follow."""

from __future__ import annotations

import math
from dataclasses import dataclass

from whyrank.papers.disentangled.variants import Variant

#: Settings of a training by name, as `whyrank train --set` takes them.
Settings = dict[str, str | int | float | None]
#: Tokens that a query is taken to have, when passages are made to fit, and word pieces per word; what they are in
#: a collection is measured (`texts_read`) and reported with the tables.
QUERY_TOKENS, PIECES_PER_WORD = 20, 1.3
#: The papers' passages: words of each, and the most that are read.
PASSAGE, MOST_PASSAGES = 150, 16
#: Models on word vectors: they have few new weights, which learn nothing at a transformer's rate.
WORD_MODELS = ("drmm", "conv-knrm")
#: Models that read a document in passages of words, and combine their scores.
PASSAGE_MODELS = ("bert-maxp", "parade")

#: Sizes that change no training.
OWN_SIZES = ("seeds", "other_seeds", "audit_documents", "patched_pairs", "readings")


@dataclass(frozen=True)
class HowRead:
    """How a model reads a document: in `chunks` sequences of `max_length` tokens; these begin every `stride` words
    and hold `passage` words where the model reads passages."""

    max_length: int
    chunks: int = 1
    passage: int | None = None
    stride: int | None = None

    def settings(self, model: str) -> Settings:
        """As the model's own settings name it."""
        if self.passage is None or self.stride is None:
            return {"max_length": self.max_length, "chunks": self.chunks}
        apart = {"stride": self.stride} if model == "bert-maxp" else {"overlap": self.passage - self.stride}
        return {"max_length": self.max_length, "passage": self.passage, **apart, "chunks": self.chunks}


@dataclass(frozen=True)
class Sizes:
    """The sizes of the trainings, then of what is done to the trained models.

    `folds` None is five, or the one split of a collection whose test is fixed. `seeds` are the trainings of BERT
    and DGRe, `other_seeds` of all others. `queries` takes only so many to learn from (or in all, in folds),
    `tests` so many of a fixed test. A document is read in `chunks` sequences of `max_length` tokens; `depth`
    candidates per query are ranked; at most `positives` relevant documents of a query are learned from in an
    epoch. `word_rate` is the learning rate of the new weights of DRMM and Conv-KNRM.

    `audit_documents` per axiom, `patched_pairs` whose heads are patched, `readings` whose attention is read.
    """

    folds: int | None = None
    seeds: int = 3
    other_seeds: int = 1
    queries: int | None = None
    tests: int | None = None
    depth: int = 100
    epochs: int = 5
    batch: int = 16
    max_length: int = 128
    chunks: int = 2
    positives: int | None = 4
    word_rate: float = 1e-3
    audit_documents: int = 60
    patched_pairs: int = 40
    readings: int = 120

    @classmethod
    def quick(cls) -> Sizes:
        """Less than ten minutes on two cores: to see that it works, not for conclusions."""
        return cls(
            folds=1, seeds=1, queries=24, tests=24, depth=30, epochs=1, batch=8, max_length=96, chunks=1,
            positives=2, audit_documents=4, patched_pairs=4, readings=24,
        )  # fmt: skip

    def shared(self) -> Settings:
        """Those that decide every training: other seeds, and other sizes of what is done to trained models, go
        into the same folder."""
        return {name: value for name, value in vars(self).items() if name not in OWN_SIZES}

    def seeds_of(self, variant: Variant, seed: int) -> range:
        """The seeds of a variant's trainings."""
        return range(seed, seed + (self.seeds if variant.leading else self.other_seeds))

    def settings_of(self, variant: Variant) -> Settings:
        """The settings of a training, before the user's own: all models read about as much of a document."""
        shared: Settings = {"epochs": self.epochs, "batch": self.batch, "positives": self.positives}
        how = self.how_read(variant.model)
        if variant.model in WORD_MODELS:
            return {**shared, "rate": self.word_rate, "max_length": how.max_length}
        return {**shared, **how.settings(variant.model), **dict(variant.settings)}

    def how_read(self, model: str) -> HowRead:
        """Word models read all at once, others in chunks; models of passages in overlapping passages, as in the
        model's paper, of words that fit, as many as cover what the chunks of the others do."""
        if model in WORD_MODELS:
            return HowRead(self.chunks * self.max_length)
        if model not in PASSAGE_MODELS:
            return HowRead(self.max_length, self.chunks)
        room = self.max_length - min(QUERY_TOKENS, self.max_length // 2) - 3
        fitting = max(2, int(room / PIECES_PER_WORD))
        words = min(PASSAGE, fitting)
        stride = words - (words // 2 if model == "bert-maxp" else words // 3)
        passages = min(MOST_PASSAGES, 1 + math.ceil(max(0, self.chunks * fitting - words) / stride))
        return HowRead(self.max_length, passages, words, stride)
