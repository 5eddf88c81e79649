"""A training on disk, epoch by epoch: killed at any moment, it goes on after the last epoch that was finished."""

from __future__ import annotations

import io
import json
import shutil
from pathlib import Path

import safetensors.torch
import torch

from whyrank.learning.history import History
from whyrank.learning.optimisation import Resumable
from whyrank.store.atomic import make_once

WEIGHTS, OPTIMISER, HISTORY = "model.safetensors", "optimiser.pt", "history.json"


class Checkpoints:
    """A folder with a folder an epoch, each whole or not there; only the last and the best are kept."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def save(self, learner: Resumable, history: History) -> None:
        """The state after the history's last epoch; what is neither last nor best is deleted."""

        def write(folder: Path) -> None:
            (folder / WEIGHTS).write_bytes(weight_bytes(learner.module))
            (folder / OPTIMISER).write_bytes(_state_bytes(learner))
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

    def restore(self, learner: Resumable, history: History) -> None:
        """Puts the state after the last epoch back into the learner."""
        self.restore_weights(learner.module, history.last)
        state = torch.load(self._of(history.last) / OPTIMISER, weights_only=True, map_location="cpu")
        learner.load_state(state)

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


def weight_bytes(module: torch.nn.Module) -> bytes:
    """A module's weights as a safetensors file; weights that have two names are written twice."""
    weights = {name: weight.detach().cpu().clone().contiguous() for name, weight in module.state_dict().items()}
    return safetensors.torch.save(weights, metadata={"format": "pt"})


def _state_bytes(learner: Resumable) -> bytes:
    buffer = io.BytesIO()
    torch.save(learner.state(), buffer)
    return buffer.getvalue()
