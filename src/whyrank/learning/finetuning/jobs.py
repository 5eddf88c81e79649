"""What is to be trained, how, and what comes of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from whyrank.core.errors import UserError
from whyrank.learning.finetuning.conditions import CONDITIONS, Condition
from whyrank.learning.history import History
from whyrank.learning.material import Values


class TuningJob(NamedTuple):
    """One training: a condition and the number that seeds it."""

    condition: Condition
    seed: int

    def __str__(self) -> str:
        return f"{self.condition}-seed{self.seed}"


@dataclass(frozen=True)
class Settings:
    """How to train; the defaults are the paper's.

    `seed` decides the split and the intervals; a condition's trainings are seeded with it and the numbers after
    it, `seeds` in all. `k` candidates of a query are ranked, documents graded `positive` or more are relevant,
    `queries` keeps only the first so many, and `patience` ends a training that no longer gets better.
    """

    conditions: tuple[Condition, ...] = tuple(CONDITIONS.values())
    seeds: int = 3
    epochs: int = 10
    rate: float = 2e-5
    negatives: int = 3
    batch: int = 16
    patience: int | None = None
    positive: int = 1
    k: int = 100
    queries: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.rate < 1:
            raise UserError(f"a learning rate of {self.rate:g}", todo="give a small one, such as 2e-5")

    @property
    def jobs(self) -> list[TuningJob]:
        return [TuningJob(condition, seed) for condition in self.conditions for seed in self._numbers]

    @property
    def aligns(self) -> bool:
        """Whether a condition starts from aligned embeddings."""
        return any(condition.aligned for condition in self.conditions)

    @property
    def _numbers(self) -> range:
        return range(self.seed, self.seed + self.seeds)

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "conditions": [str(one) for one in self.conditions], "seeds": list(self._numbers)}


@dataclass(frozen=True)
class Tuned:
    """What a job ended with: its epochs, and the test queries' measures after the epoch that validation chose."""

    condition: str
    seed: int
    history: History
    test: Values

    def to_json(self) -> dict[str, Any]:
        told = {"condition": self.condition, "seed": self.seed, "chosen": self.history.best}
        return {**told, "history": self.history.to_json(), "test": self.test}

    @classmethod
    def from_json(cls, told: dict[str, Any]) -> Tuned:
        return cls(told["condition"], told["seed"], History.from_json(told["history"]), told["test"])
