"""Jobs of trainings side by side, each in a process of one thread.

For machines that have more cores than one small model can use. A job leaves its result in its training's own
work folder, where whoever runs the training afterwards finds it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from time import monotonic
from typing import Any, NamedTuple

import torch

from whyrank.core.errors import UserError
from whyrank.engines.engine import open_workers
from whyrank.learning.optimisation import NotFinite
from whyrank.learning.plan import Job
from whyrank.learning.progress import OnProgress, TrainingProgress
from whyrank.learning.trainer import Trainer

#: Seconds between two messages of a job within an epoch.
PAUSE = 1.0


class Task(NamedTuple):
    """A job of the training that has this name."""

    name: str
    job: Job

    def __str__(self) -> str:
        return f"{self.name} {self.job}"


def tasks_of(name: str, training: Trainer) -> dict[Task, int]:
    """What is still to be fitted of a training, each job with its steps."""
    return {Task(name, job): training.plan.steps(job.fold) for job in training.unfinished}


#: The training of a name, as a worker opens it.
TrainingOf = Callable[[str], Trainer]


def fit_side_by_side(
    workers: int, training_of: TrainingOf, steps: Mapping[Task, int], on_progress: OnProgress
) -> Iterator[tuple[Task, UserError | None]]:
    """Fits all tasks, so many at a time; `steps` says how many each has at most. Yields each as soon as it is
    over, and why it has no result where its loss is NaN. The progress is that of all tasks together."""
    tasks, done = list(steps), dict.fromkeys(steps, 0)

    def on_message(message: dict[str, Any]) -> None:
        task = Task(message.pop("name"), Job(*message.pop("job")))
        now = TrainingProgress(job=task, **message)
        done[task] = now.done
        on_progress(now._replace(done=sum(done.values())))

    with open_workers(min(workers, len(steps))) as engine, engine.listening(on_message):
        for number, lost in engine.each(_fit, training_of, tasks):
            done[tasks[number]] = steps[tasks[number]]
            yield tasks[number], lost


def _fit(training_of: TrainingOf, task: Task) -> UserError | None:
    """Why there is no result, if a loss was NaN."""
    from whyrank.engines.dask import send_message

    torch.set_num_threads(1)
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    last = 0.0
    losses: dict[str, float] = {}

    def send(now: TrainingProgress) -> None:
        nonlocal last, losses
        losses = now.losses or losses
        if not now.losses or monotonic() - last > PAUSE:
            last = monotonic()
            send_message({"name": task.name, **now._asdict(), "losses": losses if now.over else now.losses})

    try:
        training_of(task.name).fit(task.job, send)
    except UserError as error:
        if isinstance(error.__cause__, NotFinite):
            return error
        raise
    return None
