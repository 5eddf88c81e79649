"""What `whyrank train` says: its plan, a bar over all trainings, and the table."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whyrank.cli.console import say
from whyrank.pages.numbers import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whyrank.core.errors import UserError
    from whyrank.learning.judgements import Judged
    from whyrank.learning.settings import TrainSettings
    from whyrank.learning.side_by_side import Task, TrainingOf
    from whyrank.learning.splits import Split
    from whyrank.learning.trainer import Trainer, TrainingProgress


@contextmanager
def only_the_first_speaks() -> Iterator[None]:
    """Of several processes, all but the first are silent."""
    if int(os.environ.get("RANK", "0")) == 0:
        yield
        return
    with Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
        yield


def tell_plan(training: Trainer) -> None:
    """What is about to be done, and what cannot be."""
    plan = training.plan
    say_used(plan.what, plan.splits)
    for number, split in enumerate(plan.splits, start=1):
        parts = ", ".join(f"{len(qids)} {part}" for part, qids in split)
        say(f"fold {number}: {parts} queries; {len(plan.pairs(number))} pairs an epoch")
    folds = range(1, len(plan.splits) + 1)
    values = ", ".join(f"{training.to_beat(fold):.4f}" for fold in folds)
    say(f"to beat on the validation queries, the first stage: {plan.settings.select} {values}")
    material = plan.material
    if material.not_found:
        say(f"{material.not_found} judged queries have no candidates and are measured as 0")
    if material.lacking:
        say(f"{material.lacking} relevant documents are not in the collection and cannot be learned from")
    if plan.repeated:
        say(
            f"{counted(len(plan.repeated), 'query', 'queries')} in the same words as another: left out of what is "
            "learned from or chosen by where the other is tested"
        )
    if plan.cut_queries:
        say(
            f"{len(plan.cut_queries)} queries are longer than half a sequence and are cut: a larger max_length "
            "reads all of them"
        )
    say(f"{len(plan.jobs)} trainings of at most {plan.settings.epochs} epochs, {training.steps} steps in all")


def say_used(what: Judged, splits: Sequence[Split]) -> None:
    """What is learned from, chosen by and tested on: files, queries and judgements."""
    from whyrank.learning.judgements import how_parted, parts_used

    say(how_parted(what, len(splits)))
    for part in parts_used(what, splits[0]) if len(splits) == 1 else ():
        say(f"  {part}")


def watching(training: Trainer) -> AbstractContextManager[Callable[..., None]]:
    """A bar; one that workers have done, or that was killed at its very end, has nothing to show."""
    if not training.unfinished:
        return nullcontext(lambda moment: None)
    return training_bar(training.steps, training.plan.settings)


def train_beside(
    workers: int, training_of: TrainingOf, tasks: Mapping[Task, int], settings: TrainSettings
) -> Iterator[tuple[Task, UserError | None]]:
    """Fits tasks so many at a time, under one bar; gives each that is over, and why its loss is no number."""
    from whyrank.learning.side_by_side import fit_side_by_side

    say(f"{len(tasks)} trainings, {min(workers, len(tasks))} at a time, one thread each")
    with training_bar(sum(tasks.values()), settings) as tell:
        yield from fit_side_by_side(workers, training_of, tasks, lambda task, moment: tell(moment, str(task)))


@contextmanager
def training_bar(steps: int, settings: TrainSettings) -> Iterator[Callable[..., None]]:
    """A bar over the steps of all trainings, with the epoch's losses by name and the last validation value; each
    epoch that is over leaves a line. Tell it the moment, and whose it is where that is more than a job."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(16), MofNCompleteColumn(), TimeRemainingColumn())
    losses: dict[str, str] = {}
    with Progress(*columns, console=Console(file=sys.stderr, highlight=False, soft_wrap=True)) as bar:
        task = bar.add_task("training", total=steps)

        def tell(moment: TrainingProgress, whose: str = "") -> None:
            who = whose or str(moment.job)
            if moment.losses:
                losses[who] = " ".join(f"{name} {value:.4f}" for name, value in moment.losses.items())
            last, where = losses.get(who, ""), f"{who}, epoch {moment.epoch}/{settings.epochs}"
            valid = "" if moment.validation is None else f", {settings.select} {moment.validation:.4f}"
            if moment.over:
                bar.console.print(f"{where}{f': {last}' if moment.epoch else ''}{valid}")
            doing = last if moment.losses else "measuring"
            bar.update(task, completed=moment.done, description=f"{where}, {doing}{valid}")

        yield tell
        bar.update(task, completed=steps, description="training")


def show(result: dict[str, Any]) -> None:
    """The table, each fold and seed, and what the difference comes to, on stdout."""
    from whyrank.cli.means_table import print_means
    from whyrank.learning.report import verdict

    folds = [{**row, "name": f"  fold {row['fold']}, seed {row['seed']}"} for row in result["by_fold"]]
    print_means([*result["table"], *folds], result["table"][0]["queries"])
    for sentence in verdict(result):
        print(sentence)
