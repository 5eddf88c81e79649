"""A training on disk, epoch by epoch: killed at any moment, it goes on after the last epoch that was finished."""

from __future__ import annotations

import io
import json
import shutil
from pathlib import Path

import safetensors.torch
import torch

from whyrank.learning.history import History
from whyrank.learning.optimisation import Learner
from whyrank.store.atomic import make_once

WEIGHTS, OPTIMISER, HISTORY = "model.safetensors", "optimiser.pt", "history.json"


class Checkpoints:
    """A folder with a folder an epoch, each whole or not there; only the last and the best are kept."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def save(self, learner: Learner, history: History) -> None:
        """The state after the history's last epoch; what is neither last nor best is deleted."""

        def write(folder: Path) -> None:
            weights = {name: weight.contiguous() for name, weight in learner.module.state_dict().items()}
            (folder / WEIGHTS).write_bytes(safetensors.torch.save(weights))
            (folder / OPTIMISER).write_bytes(_optimiser_bytes(learner))
            (folder / HISTORY).write_text(json.dumps(history.to_json()), encoding="utf-8")

        make_once(self._of(history.last), write)
        self._prune(history)

    def history(self) -> History | None:
        """The epochs that are done, if any are."""
        done = sorted(self.folder.glob("epoch-*"))
        if not done:
            return None
        history = History.from_json(json.loads((done[-1] / HISTORY).read_text(encoding="utf-8")))
        self._prune(history)
        return history

    def restore(self, learner: Learner, history: History) -> None:
        """Puts the state after the last epoch back into the learner."""
        self.restore_weights(learner.module, history.last)
        state = torch.load(self._of(history.last) / OPTIMISER, weights_only=True)
        learner.optimiser.load_state_dict(state["optimiser"])
        learner.schedule.load_state_dict(state["schedule"])

    def restore_weights(self, module: torch.nn.Module, epoch: int) -> None:
        """Puts the weights after an epoch back into the module."""
        module.load_state_dict(safetensors.torch.load_file(self._of(epoch) / WEIGHTS))

    def forget(self) -> None:
        """Deletes them all."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _of(self, epoch: int) -> Path:
        return self.folder / f"epoch-{epoch:04d}"

    def _prune(self, history: History) -> None:
        keep = {self._of(history.last), self._of(history.best)}
        for folder in set(self.folder.glob("epoch-*")) - keep:
            shutil.rmtree(folder)
        if history.best != history.last:  # the best is only ever tested: its optimiser is not needed
            (self._of(history.best) / OPTIMISER).unlink(missing_ok=True)


def _optimiser_bytes(learner: Learner) -> bytes:
    buffer = io.BytesIO()
    torch.save({"optimiser": learner.optimiser.state_dict(), "schedule": learner.schedule.state_dict()}, buffer)
    return buffer.getvalue()
