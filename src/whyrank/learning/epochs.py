"""Training epoch by epoch, whatever the model: validate, keep, go on where it stopped, stop early if asked to."""

from __future__ import annotations

from collections.abc import Callable

from whyrank.learning.checkpoints import Checkpoints
from whyrank.learning.history import Epoch, History, Learned
from whyrank.learning.optimisation import Resumable


def run_epochs(
    learner: Resumable,
    checkpoints: Checkpoints,
    train_epoch: Callable[[int], float | Learned],
    validate: Callable[[int], float],
    epochs: int,
    patience: int | None = None,
) -> History:
    """Trains for `epochs`, or until `patience` of them brought nothing better, and gives their history.

    `train_epoch(epoch)` learns and gives the mean loss, with its parts or without; it must depend on the learner's
    state and the epoch's number alone. `validate(epoch)` measures the model as it is, the higher the better.
    Epoch 0, before any training, is a candidate for the best like any other.
    """
    history = checkpoints.history()
    if history is None:
        history = History((Epoch(0, None, validate(0)),))
        checkpoints.save(learner, history)
    else:
        checkpoints.restore(learner, history)
    while not history.is_over(epochs, patience):
        epoch = history.last + 1
        learned = train_epoch(epoch)
        loss, losses = learned if isinstance(learned, Learned) else Learned(learned)
        history = history.and_then(Epoch(epoch, loss, validate(epoch), losses))
        checkpoints.save(learner, history)
    return history
