"""`whyrank finetune`: can I train a better one from this one?"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from whyrank.cli import options
from whyrank.cli.caller import asked
from whyrank.cli.console import command, say, suggest
from whyrank.cli.train_console import say_used
from whyrank.collections.given import first_stage_of
from whyrank.collections.records import fingerprint_of

if TYPE_CHECKING:
    from whyrank.core.runs import RunFolder
    from whyrank.learning.finetuning.tuner import FineTuner, OnProgress, TuningProgress

RESULT = "finetune.json"
EVERY = "full,aligned-full,embeddings,aligned-embeddings"


def finetune(
    ranker: Annotated[str, typer.Option(help="A cross-encoder: a folder, a hub id or a short name.")],
    collection: options.CollectionName,
    out: options.RunFolderPath,
    conditions: Annotated[str, typer.Option(help="Which of the four to train.")] = EVERY,
    seeds: Annotated[int, typer.Option(min=1, help="Trainings a condition.")] = 3,
    epochs: Annotated[int, typer.Option(min=1)] = 10,
    rate: Annotated[float, typer.Option(help="The highest learning rate.")] = 2e-5,
    negatives: Annotated[int, typer.Option(min=1, help="Sampled a positive.")] = 3,
    batch: Annotated[int, typer.Option(min=1, help="Pairs a step.")] = 16,
    max_length: Annotated[int, typer.Option(min=8, help="Tokens of a pair that are read.")] = 256,
    positive: Annotated[int, typer.Option(min=1, help="Documents graded so or higher are relevant.")] = 1,
    patience: Annotated[
        int | None, typer.Option(min=1, help="Stop after so many epochs without a better one.")
    ] = None,
    k: Annotated[int, typer.Option("-k", min=1, help="How many of the first stage's documents to re-rank.")] = 100,
    run: Annotated[Path | None, typer.Option(help="Your first stage, a TREC run; default: BM25.")] = None,
    queries: Annotated[int | None, typer.Option("-n", min=1, help="Only the first n judged queries.")] = None,
    seed: Annotated[
        int,
        typer.Option("--seed", min=0, max=2**32 - 1, help="Of the split, the first training and the intervals."),
    ] = 0,
) -> None:
    """Fine-tune a cross-encoder, all of it or its embeddings, aligned with the collection's IDF or not."""
    say(f"fine-tuning {ranker} on {collection}: {conditions}")
    from whyrank.circuits.reading import cross_encoder
    from whyrank.collections.catalogue import open_collection
    from whyrank.core.runs import RunFolder
    from whyrank.learning.contents import lines_hash
    from whyrank.learning.finetuning.conditions import parse_conditions
    from whyrank.learning.finetuning.jobs import Settings
    from whyrank.learning.finetuning.tuner import FineTuner
    from whyrank.learning.judgements import judged
    from whyrank.rankers.load import load

    settings = Settings(
        parse_conditions(conditions), seeds, epochs, rate, negatives, batch, patience, positive, k, queries, seed
    )
    what = judged(open_collection(collection), most=queries)
    opened = what.collection
    model = cross_encoder(load(ranker, collection=opened, **_cut(ranker, max_length)))
    say(f"{ranker}: {model.source}; reads {model.max_length} tokens of a pair")
    first, origin = first_stage_of(opened, run, k)
    inputs = {
        "ranker": model.fingerprint(),
        "collection": opened.fingerprint(),
        "first_stage": fingerprint_of(first),
        "test_queries": what.test and lines_hash(what.test),
        "validation_queries": what.validation and lines_hash(what.validation),
        "settings": settings.to_json(),
    }
    folder = RunFolder.claim(out, "finetune", inputs, asked=asked())
    told = folder.result(RESULT)
    if told is not None:
        say(f"{out} holds the result already")
    else:
        tuning = FineTuner.of(model, what, first, settings, out, folder.work("training"))
        told = _train(tuning, folder, {"collection": collection, "first_stage": origin})
    show(told)
    suggest(
        f"open {out / 'report.html'} in a browser",
        command("rank", "--ranker", out / _best(told), "--collection", collection, "-o", "RUN"),
    )


def _cut(ranker: str, max_length: int) -> dict[str, Any]:
    """BM25 has no length to cut at: it is to be refused for what it is."""
    return {} if ranker == "bm25" else {"max_length": max_length}


def _train(tuning: FineTuner, folder: RunFolder, about: dict[str, Any]) -> dict[str, Any]:
    """Trains all there is to train and writes the results; gives what finetune.json says."""
    from whyrank.learning.finetuning.report import write_finetune
    from whyrank.learning.finetuning.summary import finetuned

    say_used(tuning.what, [tuning.split])
    parts = ", ".join(f"{len(qids)} {part}" for part, qids in tuning.split)
    say(f"queries: {parts}; {tuning.pairs.positives} positives, {len(tuning.pairs)} pairs an epoch")
    if tuning.material.lacking:
        say(f"{tuning.material.lacking} relevant documents are not in the collection and cannot be learned from")
    folder.begin()
    with _training_bar(tuning.steps, tuning.settings.epochs) as watch:
        told = {**finetuned(tuning, watch), **about}
    facts = {"jobs": len(told["runs"]), "judgements": told["judgements"]}
    manifest = folder.record(**facts, pairs_an_epoch=told["pairs"]["examples"])
    paths = write_finetune(told, folder.path, manifest)
    folder.save(manifest)
    tuning.forget()
    say(f"wrote {', '.join(path.name for path in paths)} and {len(told['runs'])} models to {folder.path}")
    return told


def _best(told: dict[str, Any]) -> str:
    """The model that validation likes best: the test is for telling, not for choosing."""
    best = max(told["runs"], key=lambda one: one["history"][one["chosen"]]["validation"])
    return str(best["model"])


@contextmanager
def _training_bar(steps: int, epochs: int) -> Iterator[OnProgress]:
    """A bar over the steps of all trainings, with the epoch's loss so far."""
    import sys

    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(file=sys.stderr)) as bar:
        task = bar.add_task("training", total=steps)

        def tell(moment: TuningProgress) -> None:
            doing = "measuring" if moment.loss is None else f"loss {moment.loss:.4f}"
            what = f"{moment.job}, epoch {moment.epoch}/{epochs}, {doing}"
            bar.update(task, completed=moment.done, description=what)

        yield tell
        bar.update(task, completed=steps, description="training")


def show(told: dict[str, Any]) -> None:
    """The table, and what the differences come to, on stdout."""
    from whyrank.cli.means_table import print_means
    from whyrank.learning.finetuning.report import verdict

    print_means(told["table"], len(told["split"]["test"]))
    for sentence in verdict(told):
        print(sentence)
