"""What several processes do as one: score candidates, and keep checkpoints."""

from __future__ import annotations

from pathlib import Path

from whyrank.learning.checkpoints import Checkpoints
from whyrank.learning.history import History
from whyrank.learning.measured import Candidates
from whyrank.learning.optimisation import Resumable
from whyrank.learning.training.processes import Processes
from whyrank.rankers.ranker import Ranker


def shared_scores(candidates: Candidates, ranker: Ranker, processes: Processes) -> list[float]:
    """The scores of all candidates, each process scoring every so-manieth."""
    count, index = processes.count, processes.index
    mine = ranker.scores(candidates.pairs[index::count]).values.tolist() if candidates.pairs[index::count] else []
    order = [i for process in range(count) for i in range(process, len(candidates.pairs), count)]
    found = dict(zip(order, processes.joined(mine), strict=True))
    return [found[i] for i in range(len(order))]


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
