"""What several processes do as one: score candidates, and keep checkpoints."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from whyrank.learning.checkpoints import Checkpoints
from whyrank.learning.history import History
from whyrank.learning.measured import Candidates
from whyrank.learning.optimisation import Resumable
from whyrank.learning.training.processes import Processes
from whyrank.rankers.ranker import Pair, Ranker, ScoreNotFinite


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
