"""`whyrank train`: can I train a better one?"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from whyrank.cli import options
from whyrank.cli.caller import terminal
from whyrank.cli.commands import app
from whyrank.cli.console import command, print_json, suggest
from whyrank.cli.grouped import grouped
from whyrank.cli.several_processes import run_in_processes
from whyrank.core.errors import UserError
from whyrank.learning.models.catalogue import MODELS
from whyrank.learning.world import process_count, process_index

if TYPE_CHECKING:
    from whyrank.learning.results import Training


@dataclass(frozen=True)
class HowToTrain:
    """Candidates, folds, judgements, and what is kept: where not given, what a config file or the verb says."""

    run: Annotated[str | None, typer.Option(help="Your candidates, a TREC run; default: BM25's.")] = None
    folds: Annotated[
        int | None, typer.Option(min=1, help="Default 5; 1 is one split, 60% to learn from, 20% and 20%.")
    ] = None
    seeds: Annotated[int | None, typer.Option(min=1, help="Trainings per fold; default 3.")] = None
    test_queries: Annotated[
        str | None, typer.Option(help="A file of ids to test on, one per line; the others are learned from.")
    ] = None
    train_qrels: Annotated[
        str | None,
        typer.Option(
            help="Judgements to learn from, a file or a collection (trec-rag-2024/umbrela); the collection's own "
            "are then the test."
        ),
    ] = None
    depth: Annotated[
        int | None, typer.Option("--depth", min=1, help="How many of each query's candidates; default 100.")
    ] = None
    queries: Annotated[int | None, typer.Option("--queries", min=1, help="Only the first N judged queries.")] = (
        None
    )
    keep_models: Annotated[str | None, typer.Option(help="Models to keep: all, first or none; default all.")] = (
        None
    )
    seed: Annotated[
        int | None, typer.Option("--seed", min=0, max=2**32 - 1, help="Of the folds, the first training and more.")
    ] = None
    config: Annotated[Path | None, typer.Option(help="A TOML file with the same names; flags win.")] = None


@app.command("train")
@grouped
def train(
    *,
    out: options.RunFolderPath,
    model: Annotated[str | None, typer.Option(help=f"{', '.join(MODELS)}.")] = None,
    backbone: Annotated[
        str | None, typer.Option(help="A BERT-family checkpoint: a folder, a hub id or a short name.")
    ] = None,
    collection: Annotated[
        str | None, typer.Option("--collection", help="A folder, a built-in name or an ir_datasets id.")
    ] = None,
    how: HowToTrain,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="A setting of the model or the training: key=value.")
    ] = None,
    processes: Annotated[
        int, typer.Option(min=1, help="Share each batch among N processes (or GPUs) of this machine.")
    ] = 1,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Train N folds and seeds at a time, one thread each.")
    ] = None,
    device: options.Device = "cpu",
    json: options.AsJson = False,
) -> None:
    """Train DGRe or a baseline on your collection, fold by fold, and test it on queries it has not seen."""
    if workers is not None and processes > 1:
        raise UserError("--workers and --processes", todo="give one: several trainings at a time, or one shared")
    if processes > 1 and process_count() == 1:
        raise typer.Exit(run_in_processes(processes))
    with only_the_first_speaks():
        from whyrank.learning.api import train as run_training

        result = run_training(
            model, backbone, collection, workers=workers, device=device, out=out, caller=terminal(), **vars(how),
            **_settings(set_ or [], run_training),
        )  # fmt: skip
        print_json(result) if json else show(result)
        suggest(f"open {out / 'report.html'} in a browser", *_next(result, out, collection or result.collection))


def _settings(texts: list[str], verb: Callable[..., Training]) -> dict[str, Any]:
    """The settings of `--set`, none of which is a parameter of the verb."""
    from whyrank.learning.options import read_assignments

    settings = read_assignments(texts)
    options = [name.replace("_", "-") for name in signature(verb).parameters if name in settings]
    if options:
        raise UserError(f"{options[0]} is not a setting", todo="see the options of 'whyrank train --help'")
    return settings


@contextmanager
def only_the_first_speaks() -> Iterator[None]:
    """Of several processes, all but the first are silent."""
    if process_index() == 0:
        yield
        return
    with Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
        yield


def show(result: Training) -> None:
    """The table, each fold and seed, and the verdict, on stdout."""
    from whyrank.cli.means_table import print_means

    print_means([*result.means, *(one.row() for one in result.by_fold)])
    for sentence in result.verdict():
        print(sentence)


def _next(result: Training, out: Path, collection: str) -> list[str]:
    """Measure the runs again, where all queries were tested; open the model with the best validation."""
    runs = [out / "runs" / f"seed{seed}.trec" for seed in result.seeds]
    found = [command("eval", *runs, "--qrels", collection)] if len(result.tested) == result.queries else []
    if result.best is not None:
        ranker = out / str(result.best.model)
        found.append(command("audit", "--ranker", ranker, "--collection", collection, "-o", "RUN"))
    return found
