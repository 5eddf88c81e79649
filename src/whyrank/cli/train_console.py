"""What `whyrank train` says: its plan, a bar over all trainings, and the table."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whyrank.cli.console import say

if TYPE_CHECKING:
    from whyrank.learning.training.training import Training, TrainingMoment, Watch


@contextmanager
def only_the_first_speaks() -> Iterator[None]:
    """Of several processes, all but the first are silent."""
    if int(os.environ.get("RANK", "0")) == 0:
        yield
        return
    with Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
        yield


def tell_plan(training: Training) -> None:
    """What is about to be done, and what cannot be."""
    plan = training.plan
    for number, split in enumerate(plan.splits, start=1):
        parts = ", ".join(f"{len(qids)} {part}" for part, qids in split)
        say(f"fold {number}: {parts} queries; {len(plan.pairs(number))} pairs an epoch")
    material = plan.material
    if material.not_found:
        say(f"{material.not_found} judged queries have no candidates and are measured as 0")
    if material.lacking:
        say(f"{material.lacking} relevant documents are not in the collection and cannot be learned from")
    say(f"{len(plan.jobs)} trainings of at most {plan.settings.epochs} epochs, {training.steps} steps in all")


@contextmanager
def training_bar(training: Training) -> Iterator[Watch]:
    """A bar over the steps of all trainings, with the epoch's losses by name and the last validation value; each
    epoch that is over leaves a line."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(16), MofNCompleteColumn(), TimeRemainingColumn())
    settings, losses = training.plan.settings, ""
    with Progress(*columns, console=Console(file=sys.stderr, highlight=False, soft_wrap=True)) as bar:
        task = bar.add_task("training", total=training.steps)

        def tell(moment: TrainingMoment) -> None:
            nonlocal losses
            losses = " ".join(f"{name} {value:.4f}" for name, value in moment.losses.items()) or losses
            where = f"{moment.job}, epoch {moment.epoch}/{settings.epochs}"
            valid = "" if moment.validation is None else f", {settings.select} {moment.validation:.4f}"
            if moment.over:
                bar.console.print(f"{where}{f': {losses}' if moment.epoch else ''}{valid}")
            doing = losses if moment.losses else "measuring"
            bar.update(task, completed=moment.done, description=f"{where}, {doing}{valid}")

        yield tell
        bar.update(task, completed=training.steps, description="training")


def show(result: dict[str, Any]) -> None:
    """The table, each fold and seed, and what the difference comes to, on stdout."""
    from whyrank.cli.means_table import print_means
    from whyrank.reports.train import verdict

    folds = [{**row, "name": f"  fold {row['fold']}, seed {row['seed']}"} for row in result["by_fold"]]
    print_means([*result["table"], *folds], result["table"][0]["queries"])
    for sentence in verdict(result):
        print(sentence)
