"""What is to be fine-tuned, how, and the result of each training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from whyrank.core.errors import UserError
from whyrank.learning.finetuning.conditions import CONDITIONS, Condition
from whyrank.learning.history import History
from whyrank.learning.material import Values

#: What negatives are drawn from: the query's candidates, or all documents, as in the published code.
CANDIDATES, COLLECTION = NEGATIVES_FROM = ("candidates", "collection")


class TuningJob(NamedTuple):
    """One training: a condition and the number that seeds it."""

    condition: Condition
    seed: int

    def __str__(self) -> str:
        return f"{self.condition}-seed{self.seed}"


@dataclass(frozen=True)
class FineTuneSettings:
    """How to train; the defaults are the paper's.

    `seed` decides the split and the intervals; a condition's trainings are seeded with it and the numbers after
    it, `seeds` in all. `depth` candidates per query are ranked, documents graded `positive` or more are relevant,
    `queries` keeps only the first so many, and `patience` ends a training that no longer gets better. At most
    `positives` relevant documents of a query are learned from in an epoch (all), drawn anew for each, with
    `negatives` others each, drawn from the query's candidates or from the whole collection (`negatives_from`).
    """

    conditions: tuple[str, ...] = tuple(CONDITIONS)
    seeds: int = 3
    epochs: int = 10
    rate: float = 2e-5
    negatives: int = 3
    batch: int = 16
    max_length: int = 256
    patience: int | None = None
    positive: int = 1
    depth: int = 100
    queries: int | None = None
    seed: int = 0
    positives: int | None = None
    negatives_from: str = CANDIDATES

    def __post_init__(self) -> None:
        if not 0 < self.rate < 1:
            raise UserError(f"a learning rate of {self.rate:g}", todo="give a small one, such as 2e-5")
        if self.negatives_from not in NEGATIVES_FROM:
            raise UserError(
                f"negatives cannot be drawn from '{self.negatives_from}'",
                where="negatives_from",
                todo=f"choose {' or '.join(NEGATIVES_FROM)}",
            )

    @property
    def jobs(self) -> list[TuningJob]:
        return [TuningJob(CONDITIONS[name], seed) for name in self.conditions for seed in self.numbers]

    @property
    def aligns(self) -> bool:
        """Whether a condition starts from aligned embeddings."""
        return any(CONDITIONS[name].aligned for name in self.conditions)

    @property
    def numbers(self) -> range:
        """The seeds of a condition's trainings."""
        return range(self.seed, self.seed + self.seeds)


@dataclass(frozen=True)
class Tuned:
    """The result of a job: its epochs, and the test queries' measures after the epoch that validation chose."""

    condition: str
    seed: int
    history: History
    test: Values
