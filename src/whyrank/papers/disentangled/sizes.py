"""How much of everything a study of DGRe does, and what each model is told for it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from whyrank.papers.disentangled.variants import Variant

#: Tokens that a query is taken to have, when passages are made to fit, and word pieces a word; what they are in a
#: collection is measured (`what_is_read`) and said beside the tables.
QUERY_TOKENS, PIECES_A_WORD = 20, 1.3
#: The papers' passages: words of each, and the most that are read.
PASSAGE, MOST_PASSAGES = 150, 16
#: Models on word vectors: what starts anew is little, and learns nothing at a transformer's rate.
WORD_MODELS = ("drmm", "conv-knrm")
#: Models that read a document in passages of words, and make one score of theirs.
PASSAGE_MODELS = ("bert-maxp", "parade")

#: Sizes that change no training.
OWN_SIZES = ("seeds", "other_seeds", "audit", "pairs", "readings")


@dataclass(frozen=True)
class Sizes:
    """The sizes of the trainings, then of what is done to the trained models.

    `folds` None is five, or the one split of a collection whose test is fixed. `seeds` are the trainings of BERT
    and DGRe, `other_seeds` of all others. `queries` takes only so many to learn from (or in all, in folds),
    `tests` so many of a fixed test. A document is read in `chunks` sequences of `max_length` tokens; `depth`
    candidates a query are ranked; at most `positives` relevant documents of a query are learned from in an epoch.
    `word_rate` is the learning rate of what starts anew in DRMM and Conv-KNRM.

    `audit` documents an axiom, `pairs` whose heads are patched, `readings` whose attention is read.
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
    audit: int = 60
    pairs: int = 40
    readings: int = 120

    @classmethod
    def quick(cls) -> Sizes:
        """Less than ten minutes on two cores: to see that all is well, not to believe in."""
        return cls(
            folds=1, seeds=1, queries=24, tests=24, depth=30, epochs=1, batch=8, max_length=96, chunks=1,
            positives=2, audit=4, pairs=4, readings=24,
        )  # fmt: skip

    def shared(self) -> dict[str, Any]:
        """Those that decide every training: other seeds, and other sizes of what is done to trained models, go
        into the same folder."""
        return {name: value for name, value in vars(self).items() if name not in OWN_SIZES}

    def seeds_of(self, variant: Variant, seed: int) -> range:
        """The numbers that seed a variant's trainings."""
        return range(seed, seed + (self.seeds if variant.leading else self.other_seeds))

    def settings_of(self, variant: Variant) -> dict[str, Any]:
        """What a training is told, but for what the user sets: all models read about as much of a document."""
        shared = {"epochs": self.epochs, "batch": self.batch, "positives": self.positives}
        if variant.model in WORD_MODELS:
            return {**shared, "rate": self.word_rate, "max_length": self.chunks * self.max_length}
        return {**shared, "max_length": self.max_length, **self._reading(variant.model), **dict(variant.settings)}

    def _reading(self, model: str) -> dict[str, Any]:
        """Chunks; or overlapping passages, as the model's paper has them, of words that fit, as many as cover what
        the chunks of the others do."""
        if model not in PASSAGE_MODELS:
            return {"chunks": self.chunks}
        room = self.max_length - min(QUERY_TOKENS, self.max_length // 2) - 3
        fitting = max(2, int(room / PIECES_A_WORD))
        words = min(PASSAGE, fitting)
        shared = words // 2 if model == "bert-maxp" else words // 3
        stride = words - shared
        passages = min(MOST_PASSAGES, 1 + math.ceil(max(0, self.chunks * fitting - words) / stride))
        apart = {"stride": stride} if model == "bert-maxp" else {"overlap": shared}
        return {"passage": words, **apart, "chunks": passages}
