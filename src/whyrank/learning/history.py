"""The epochs of one training: what each left, which was the best, and whether it is time to stop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True)
class Epoch:
    """An epoch's mean training loss and what the validation queries say of the model after it; epoch 0 is the
    model before any training, which has no loss. `losses` are the parts of the loss by name, where it has some."""

    epoch: int
    loss: float | None
    validation: float
    losses: dict[str, float] | None = None


class Learned(NamedTuple):
    """The mean loss of an epoch's training, and its parts by name."""

    loss: float
    losses: dict[str, float] | None = None


@dataclass(frozen=True)
class History:
    """The epochs so far, from epoch 0 on."""

    epochs: tuple[Epoch, ...] = ()

    def and_then(self, epoch: Epoch) -> History:
        assert epoch.epoch == len(self.epochs), "epochs come one after another"
        return History((*self.epochs, epoch))

    @property
    def last(self) -> int:
        return self.epochs[-1].epoch

    @property
    def best(self) -> int:
        """The epoch that validation likes best; of equals the earliest."""
        return max(self.epochs, key=lambda epoch: (epoch.validation, -epoch.epoch)).epoch

    def is_over(self, epochs: int, patience: int | None = None) -> bool:
        """All epochs are done, or the last `patience` of them brought nothing better."""
        return self.last >= epochs or (patience is not None and self.last - self.best >= patience)
