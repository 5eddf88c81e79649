"""One process, or several that learn from the same batches, each from its share.

Every process reads its share of a batch's pairs; the outputs are gathered, so that each process computes the
losses of the whole batch and goes back through its own share only; the gradients are then added up. So several
processes do what one would, whatever the losses compare within a batch, as long as these depend on the learned
parameters through the outputs alone.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, TypeVar

import torch
from torch import Tensor

from whyrank.core.errors import UserError
from whyrank.learning.checkpoints import Checkpoints
from whyrank.learning.graded_pairs import in_parts
from whyrank.learning.history import History
from whyrank.learning.material import Candidates
from whyrank.learning.models.network import Output
from whyrank.learning.optimisation import Resumable
from whyrank.learning.world import MEETING_POINT, process_count, process_index
from whyrank.rankers.ranker import Pair, Ranker, ScoreNotFinite

T = TypeVar("T")


class Processes(Protocol):
    """Who learns: process `index` of `count`, on a device. Process 0 writes and speaks."""

    index: int
    count: int
    device: torch.device

    def share(self, items: Sequence[T]) -> Sequence[T]:
        """This process's part of a batch, as many items in every process: the last may come twice."""

    def whole(self, output: Output, count: int) -> Output:
        """The outputs of a whole batch of `count` pairs, with gradients to this process's share."""

    def add_up(self, parameters: Iterable[Tensor]) -> None:
        """Adds up the gradients of all processes, in each of them."""

    def joined(self, values: list[float]) -> list[float]:
        """The values of all processes, one process after another."""

    def from_first(self, make: Callable[[], T]) -> T:
        """What process 0 makes, in each of them."""


class OneProcess:
    """One process: there is nothing to share."""

    index, count = 0, 1

    def __init__(self, device: str = "cpu") -> None:
        self.device = torch.device(device)

    def share(self, items: Sequence[T]) -> Sequence[T]:
        return items

    def whole(self, output: Output, count: int) -> Output:
        return output

    def add_up(self, parameters: Iterable[Tensor]) -> None:
        pass

    def joined(self, values: list[float]) -> list[float]:
        return values

    def from_first(self, make: Callable[[], T]) -> T:
        return make()


class SeveralProcesses:
    """One of several processes, with accelerate between them."""

    def __init__(self, accelerator: Any) -> None:
        self._accelerator = accelerator
        self.index, self.count = accelerator.process_index, accelerator.num_processes
        self.device = accelerator.device

    def share(self, items: Sequence[T]) -> Sequence[T]:
        assert len(items) >= self.count, "a part that is too small was refused before"
        parts = in_parts(items, self.count)
        mine, most = parts[self.index], max(map(len, parts))
        return [*mine, *mine[-1:] * (most - len(mine))]

    def whole(self, output: Output, count: int) -> Output:
        sizes = list(map(len, in_parts(range(count), self.count)))
        scores = self._whole(output.scores, sizes)
        return Output(scores, {name: self._whole(part, sizes) for name, part in output.parts.items()})

    def _whole(self, mine: Tensor, sizes: list[int]) -> Tensor:
        """[2 * most, ...] of each process -> [2 * count, ...]: better first, then worse, in the batch's order."""
        most, first = max(sizes), sum(sizes[: self.index])
        every = self._accelerator.gather(mine.detach().contiguous())
        rows = [
            process * 2 * most + half * most + i
            for half in range(2)
            for process, size in enumerate(sizes)
            for i in range(size)
        ]
        whole = every[rows]
        for half in range(2):
            start, size = half * sum(sizes) + first, sizes[self.index]
            whole[start : start + size] = mine[half * most : half * most + size]
        return whole

    def add_up(self, parameters: Iterable[Tensor]) -> None:
        gradients = [weight.grad for weight in parameters if weight.grad is not None]
        flat = torch.cat([gradient.flatten() for gradient in gradients])
        total = self._accelerator.reduce(flat, "sum")
        for gradient, part in zip(gradients, total.split([one.numel() for one in gradients]), strict=True):
            gradient.copy_(part.view_as(gradient))

    def joined(self, values: list[float]) -> list[float]:
        return import_module("accelerate.utils").gather_object(values)

    def from_first(self, make: Callable[[], T]) -> T:
        made = [make() if self.index == 0 else None]
        return import_module("accelerate.utils").broadcast_object_list(made)[0]


def open_processes(device: str = "cpu") -> Processes:
    """This process alone, or all that `--processes`, torchrun or `accelerate launch` started together."""
    if process_count() == 1:
        return OneProcess(device)
    try:
        accelerate = import_module("accelerate")
    except ImportError as error:
        raise UserError(
            "several processes need accelerate", todo="install it: pip install 'whyrank[train]'"
        ) from error
    if MEETING_POINT in os.environ:
        _meet(Path(os.environ[MEETING_POINT]), device)
    return SeveralProcesses(accelerate.Accelerator(cpu=device == "cpu"))


def _meet(place: Path, device: str) -> None:
    """Finds the others through a file; accelerate takes a group that is there, and opens no port for one."""
    store = torch.distributed.FileStore(str(place), process_count())
    if device != "cpu":
        torch.cuda.set_device(process_index())
    backend = "gloo" if device == "cpu" else "nccl"
    torch.distributed.init_process_group(backend, store=store, rank=process_index(), world_size=process_count())


def shared_scores(candidates: Candidates, ranker: Ranker, processes: Processes) -> list[float]:
    """The scores of all candidates, each process scoring every so-manieth."""
    count, index = processes.count, processes.index
    mine = _scores(ranker, candidates.pairs[index::count])
    order = [i for process in range(count) for i in range(process, len(candidates.pairs), count)]
    found = dict(zip(order, processes.joined(mine), strict=True))
    return [found[i] for i in range(len(order))]


def _scores(ranker: Ranker, pairs: Sequence[Pair]) -> list[float]:
    """The scores; all NaN where one is not finite: a process that stopped alone would leave the others waiting."""
    try:
        return ranker.scores(pairs).values.tolist() if pairs else []
    except ScoreNotFinite:
        return [math.nan] * len(pairs)


class SharedCheckpoints(Checkpoints):
    """Checkpoints that process 0 writes and all read; none goes on before it is there."""

    def __init__(self, folder: Path, processes: Processes) -> None:
        super().__init__(folder)
        self._from_first = processes.from_first

    def save(self, learner: Resumable, history: History) -> None:
        self._from_first(lambda: super(SharedCheckpoints, self).save(learner, history))

    def history(self) -> History | None:
        return self._from_first(super().history)

    def forget(self) -> None:
        self._from_first(super().forget)
