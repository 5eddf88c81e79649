"""Jobs of trainings side by side, each in a process of one thread.

For machines that have more cores than one small model can use. A job leaves what it comes to in its training's own
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
from whyrank.learning.trainer import Trainer, TrainingProgress

#: Seconds between two words of a job in the midst of an epoch.
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
#: Told where a task is; `done` counts the steps of all tasks together.
OnTaskProgress = Callable[[Task, TrainingProgress], object]


def fit_side_by_side(
    workers: int, training_of: TrainingOf, steps: Mapping[Task, int], watch: OnTaskProgress
) -> Iterator[tuple[Task, UserError | None]]:
    """Fits all tasks, so many at a time; `steps` says how many each has at most. Gives each as soon as it is over,
    and why it came to nothing where its loss is no number."""
    tasks, done = list(steps), dict.fromkeys(steps, 0)

    def hear(told: dict[str, Any]) -> None:
        job = Job(*told.pop("job"))
        task, moment = Task(told.pop("name"), job), TrainingProgress(job=job, **told)
        done[task] = moment.done
        watch(task, moment._replace(done=sum(done.values())))

    with open_workers(min(workers, len(steps))) as engine, engine.hearing(hear):
        for number, lost in engine.each(_fit, training_of, tasks):
            done[tasks[number]] = steps[tasks[number]]
            yield tasks[number], lost


def _fit(training_of: TrainingOf, task: Task) -> UserError | None:
    """Why there is no result, if its loss was no number."""
    from whyrank.engines.dask import tell

    torch.set_num_threads(1)
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    last = 0.0
    losses: dict[str, float] = {}

    def say(moment: TrainingProgress) -> None:
        nonlocal last, losses
        losses = moment.losses or losses
        measured = not moment.losses
        if measured or monotonic() - last > PAUSE:
            last = monotonic()
            tell({"name": task.name, **moment._asdict(), "losses": losses if moment.over else moment.losses})

    try:
        training_of(task.name).fit(task.job, say)
    except UserError as error:
        if isinstance(error.__cause__, NotFinite):
            return error
        raise
    return None
