"""How the progress of trainings reaches the caller: one bar, and a line for each epoch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

from whyrank.core.caller import Caller


class TrainingProgress(NamedTuple):
    """Where the work is: `done` steps of all jobs together, the job, its epoch, the epoch's losses so far by name
    (none while it is measured), the last value of the measure that selects, and whether the epoch is over."""

    done: int
    job: object
    epoch: int
    losses: dict[str, float]
    validation: float | None
    over: bool = False


#: Called at each step, and before and after each measurement.
OnProgress = Callable[[TrainingProgress], object]


@dataclass
class JobProgress:
    """Reports where one job is: `before` are the steps of the jobs before it, `steps` those of an epoch."""

    on_progress: OnProgress
    job: object
    before: int
    steps: int
    validation: float | None = None

    def step(self, epoch: int, step: int, losses: dict[str, float], over: bool = False) -> None:
        """After a step of an epoch (from 1)."""
        done = self.before + max(0, epoch - 1) * self.steps + step
        self.on_progress(TrainingProgress(done, self.job, epoch, losses, self.validation, over))

    def measure(self, epoch: int, measure: Callable[[], float]) -> float:
        """The validation value after an epoch (0: before training), reported before and after it is measured."""
        self.step(epoch, self.steps * bool(epoch), {})
        self.validation = measure()
        self.step(epoch, self.steps * bool(epoch), {}, over=True)
        return self.validation


def ignore_progress(progress: TrainingProgress) -> None:
    """Nobody is interested."""


@contextmanager
def training_bar(caller: Caller, steps: int, epochs: int, select: str) -> Iterator[OnProgress]:
    """A bar over the steps of all trainings; each epoch that is over is said, with its losses."""
    done, losses = 0, dict[str, str]()
    with caller.progress("training", steps, "steps") as advance:

        def show(now: TrainingProgress) -> None:
            nonlocal done
            job = str(now.job)
            advance(max(0, now.done - done))
            done = max(done, now.done)
            if now.losses:
                losses[job] = ": " + " ".join(f"{name} {value:.4f}" for name, value in now.losses.items())
            if now.over:
                learned = losses.get(job, "") if now.epoch else ""
                valid = "" if now.validation is None else f", {select} {now.validation:.4f}"
                caller.say(f"{job}, epoch {now.epoch}/{epochs}{learned}{valid}")

        yield show
        advance(steps - done)
