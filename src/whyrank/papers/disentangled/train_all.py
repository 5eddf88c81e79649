"""All variants of a study, trained one after another or side by side; what came to nothing is reported, too."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from whyrank.core.caller import Caller
from whyrank.core.errors import UserError
from whyrank.learning.api import say_plan
from whyrank.learning.optimisation import NotFinite
from whyrank.learning.progress import OnProgress, ignore_progress, training_bar
from whyrank.learning.results import Training
from whyrank.learning.side_by_side import Task, fit_side_by_side, tasks_of
from whyrank.learning.trainer import Trainer
from whyrank.papers.disentangled.trainings import Trainings
from whyrank.papers.disentangled.variants import VARIANTS, Variant

#: Variant -> its training.
Trained = Mapping[str, Training]
#: Variant -> why it could not be trained.
Lacking = Mapping[str, str]


@dataclass(frozen=True, eq=False)
class TrainAll:
    """The variants of a study in their folders; with `workers` so many jobs at a time."""

    trainings: Trainings
    variants: Sequence[Variant]
    caller: Caller
    workers: int | None = None

    def each(self) -> Iterator[tuple[Trained, Lacking]]:
        """What is trained so far, and why some variants are lacking: after each training that was not done before,
        and last of all of them."""
        found: dict[str, Training] = {}
        lacking: dict[str, str] = {}
        for number, (variant, lost) in enumerate(self._one_by_one(), start=1):
            done = self.trainings.is_done(variant)
            self.caller.say(f"\n[{number}/{len(self.variants)}] {variant.title}{': done before' if done else ''}")
            result = lost or self._train(variant)
            if isinstance(result, UserError):
                lacking[variant.name] = result.what
                self.caller.say(f"{variant.title} is lacking: {result.what}")
            else:
                found[variant.name] = result
            if not done and number < len(self.variants):
                yield found, lacking
        yield found, lacking

    def _train(self, variant: Variant) -> Training | UserError:
        """A variant, trained, or why it came to nothing: its loss was NaN or infinite."""
        try:
            return self.trainings.train(variant, self._show)
        except UserError as error:
            if isinstance(error.__cause__, NotFinite):
                return error
            raise

    def _one_by_one(self) -> Iterator[tuple[Variant, UserError | None]]:
        """Those that are done before, then the others: to be trained now or, side by side, as they come; and why
        one of these came to nothing."""
        tasks = self.tasks() if self.workers else {}
        left = Counter(task.name for task in tasks)
        ready = [variant for variant in self.variants if not left[variant.name]]
        for variant in sorted(ready, key=lambda one: not self.trainings.is_done(one)):
            yield variant, None
        lost: dict[str, UserError] = {}
        for task, why in self._side_by_side(tasks):
            left[task.name] -= 1
            if why:
                lost[task.name] = why
                self.caller.say(f"{task}: {why.what}")
            if not left[task.name]:
                yield VARIANTS[task.name], lost.get(task.name)

    def _show(self, trainer: Trainer) -> AbstractContextManager[OnProgress]:
        """The plan and a bar, where there is something to train."""
        if not trainer.unfinished:
            return nullcontext(ignore_progress)
        say_plan(trainer, self.caller)
        settings = trainer.plan.settings
        return training_bar(self.caller, trainer.steps, settings.epochs, settings.select)

    def _side_by_side(self, tasks: Mapping[Task, int]) -> Iterator[tuple[Task, UserError | None]]:
        """Each task as soon as it is over, and why it came to nothing where its loss is NaN or infinite."""
        if not (self.workers and tasks):
            return
        trainings = self.trainings
        training_of = lambda name: trainings.training(VARIANTS[name])  # noqa: E731
        first = training_of(next(iter(tasks)).name)
        say_plan(first, self.caller)
        at_a_time = min(self.workers, len(tasks))
        self.caller.say(f"{len(tasks)} trainings, {at_a_time} at a time, one thread each")
        settings = first.plan.settings
        with training_bar(self.caller, sum(tasks.values()), settings.epochs, settings.select) as on_progress:
            yield from fit_side_by_side(self.workers, training_of, tasks, on_progress)

    def tasks(self) -> dict[Task, int]:
        """Every job that is to be done, and its steps."""
        found: dict[Task, int] = {}
        for variant in self.variants:
            if not self.trainings.is_done(variant):
                found |= tasks_of(variant.name, self.trainings.training(variant))
        return found
