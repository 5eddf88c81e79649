"""How the progress of trainings reaches the caller: one bar, and a line for each epoch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
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
