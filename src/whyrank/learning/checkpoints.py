"""Trainings on disk: killed at any moment, they continue after the last epoch that was finished.

`Checkpoints` keeps the epochs of one training, `run_epochs` trains with them, and `WorkFolder` keeps the results
of several trainings that run one after another.
"""

from __future__ import annotations

import io
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

import safetensors.torch
import torch

from whyrank.core.atomic import make_once, remove_folder
from whyrank.core.errors import UserError
from whyrank.core.kept import content_key, keep, keep_json, kept, kept_json
from whyrank.core.results import plain
from whyrank.core.runs import Run
from whyrank.learning.history import Epoch, History, Learned
from whyrank.learning.optimisation import NotFinite, Resumable

R = TypeVar("R")
_log = logging.getLogger(__name__)
WEIGHTS, OPTIMISER, HISTORY = "model.safetensors", "optimiser.pt", "history.json"


class Checkpoints:
    """A folder with a folder per epoch, each whole or absent; only the last and the best are kept."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._key = folder, content_key("epoch")

    def save(self, learner: Resumable, history: History) -> None:
        """The state after the history's last epoch; what is neither last nor best is deleted."""

        def write(folder: Path) -> None:
            keep(folder / WEIGHTS, self._key, weight_bytes(learner.module))
            keep(folder / OPTIMISER, self._key, _state_bytes(learner))
            keep_json(folder / HISTORY, self._key, plain(history))

        make_once(self._of(history.last), write)
        self._prune(history)

    def history(self) -> History | None:
        """The epochs that are done, if any are; where one is damaged, the training starts anew."""
        done = sorted(self.folder.glob("epoch-*"))
        if not done:
            return None
        history: History | None = kept_json(done[-1] / HISTORY, self._key, History)
        if history is None or not self._is_whole(history):
            _log.warning("%s is damaged or of another version: this training starts anew", done[-1])
            self.forget()
            return None
        self._prune(history)
        return history

    def restore(self, learner: Resumable, history: History) -> None:
        """Puts the state after the last epoch back into the learner."""
        self.restore_weights(learner.module, history.last)
        state = io.BytesIO(self._content(history.last, OPTIMISER))
        learner.load_state(torch.load(state, weights_only=True, map_location="cpu"))

    def restore_weights(self, module: torch.nn.Module, epoch: int) -> None:
        """Puts the weights after an epoch back into the module."""
        module.load_state_dict(safetensors.torch.load(self._content(epoch, WEIGHTS)))

    def forget(self) -> None:
        """Deletes them all."""
        remove_folder(self.folder)

    def _is_whole(self, history: History) -> bool:
        """Whether all that the rest of the training needs is there as it was written."""
        needed = [(history.last, WEIGHTS), (history.last, OPTIMISER), (history.best, WEIGHTS)]
        return all(kept(self._of(epoch) / name, self._key) is not None for epoch, name in dict.fromkeys(needed))

    def _content(self, epoch: int, name: str) -> bytes:
        content = kept(self._of(epoch) / name, self._key)
        if content is None:
            where = self._of(epoch) / name
            raise UserError("damaged while it was in use", where=where, todo="run the same command again")
        return content

    def _of(self, epoch: int) -> Path:
        return self.folder / f"epoch-{epoch:04d}"

    def _prune(self, history: History) -> None:
        last, best = self._of(history.last), self._of(history.best)
        for folder in set(self.folder.glob("epoch-*")) - {last, best}:
            remove_folder(folder)
        if best != last:  # the best is only ever tested: its optimiser is not needed
            (best / OPTIMISER).unlink(missing_ok=True)


def weight_bytes(module: torch.nn.Module) -> bytes:
    """A module's weights as a safetensors file; weights that have two names are written twice."""
    weights = {name: weight.detach().cpu().clone().contiguous() for name, weight in module.state_dict().items()}
    return safetensors.torch.save(weights, metadata={"format": "pt"})


def _state_bytes(learner: Resumable) -> bytes:
    buffer = io.BytesIO()
    torch.save(learner.state(), buffer)
    return buffer.getvalue()


@dataclass(frozen=True)
class WorkFolder:
    """A folder with the results of the jobs that are finished, and the epochs of the one that runs."""

    path: Path

    def epochs(self, job: object) -> Path:
        """Where a job keeps its epochs."""
        return self.path / str(job)

    def result(self, job: object, kind: type[R]) -> R | None:
        """The result of a finished job."""
        found: R | None = kept_json(self._result(job), self._key, kind)
        return found

    def keep(self, job: object, result: object) -> None:
        """Keeps the result of a job, which is then finished."""
        keep_json(self._result(job), self._key, plain(result))

    @contextmanager
    def stopping(self, job: object, rates: str) -> Iterator[None]:
        """A NaN loss or score ends the work, with where it happened, and which rates to lower."""
        try:
            yield
        except NotFinite as error:
            kept = any(self.epochs(job).glob("*"))
            lower = f"the last good epoch is kept there; try a lower {rates}, in another folder"
            todo = lower if kept else "nothing was learned yet: is the model it starts from whole?"
            where = self.epochs(job) if kept else None
            raise UserError(f"{error} of {job}", where=where, todo=todo) from error

    def forget(self) -> None:
        """Deletes it."""
        remove_folder(self.path)

    @property
    def _key(self) -> str:
        """The folder's own name tells the work."""
        return content_key(self.path.name)

    def _result(self, job: object) -> Path:
        return self.path / f"{job}.json"


def run_epochs(
    learner: Resumable,
    checkpoints: Checkpoints,
    train_epoch: Callable[[int], float | Learned],
    validate: Callable[[int], float],
    epochs: int,
    patience: int | None = None,
) -> History:
    """Trains for `epochs`, or until `patience` of them brought nothing better, and returns their history.

    `train_epoch(epoch)` learns and returns the mean loss, with its parts or without; it must depend on the
    learner's state and the epoch's number alone. `validate(epoch)` measures the model as it is, the higher the
    better. Epoch 0, before any training, is a candidate for the best like any other.
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


@contextmanager
def work_folders(place: Run) -> Iterator[tuple[Path, Path]]:
    """Where models and unfinished work go; without a run folder nowhere that lasts."""
    work = place.work("training")
    if place.path is not None and work is not None:
        yield place.path, work
        return
    with TemporaryDirectory(prefix="whyrank-") as folder:
        yield Path(folder), Path(folder, "work")
