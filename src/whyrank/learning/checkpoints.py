"""A training on disk, epoch by epoch: killed at any moment, it goes on after the last epoch that was finished."""

from __future__ import annotations

import io
import logging
from pathlib import Path

import safetensors.torch
import torch

from whyrank.core.atomic import make_once, remove_folder
from whyrank.core.errors import UserError
from whyrank.core.kept import content_key, keep, keep_json, kept, kept_json
from whyrank.learning.history import History
from whyrank.learning.optimisation import Resumable

_log = logging.getLogger(__name__)
WEIGHTS, OPTIMISER, HISTORY = "model.safetensors", "optimiser.pt", "history.json"


class Checkpoints:
    """A folder with a folder an epoch, each whole or not there; only the last and the best are kept."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._key = folder, content_key("epoch")

    def save(self, learner: Resumable, history: History) -> None:
        """The state after the history's last epoch; what is neither last nor best is deleted."""

        def write(folder: Path) -> None:
            keep(folder / WEIGHTS, self._key, weight_bytes(learner.module))
            keep(folder / OPTIMISER, self._key, _state_bytes(learner))
            keep_json(folder / HISTORY, self._key, history.to_json())

        make_once(self._of(history.last), write)
        self._prune(history)

    def history(self) -> History | None:
        """The epochs that are done, if any are; where one is damaged, the training starts anew."""
        done = sorted(self.folder.glob("epoch-*"))
        if not done:
            return None
        told = kept_json(done[-1] / HISTORY, self._key)
        history = None if told is None else History.from_json(told)
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
