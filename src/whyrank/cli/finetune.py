"""`whyrank finetune`: can I train a better one from this one?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from whyrank.cli import options
from whyrank.cli.caller import terminal
from whyrank.cli.commands import app
from whyrank.cli.console import command, print_json, say, suggest

if TYPE_CHECKING:
    from whyrank.learning.finetuning.results import FineTuning

EVERY = "full,aligned-full,embeddings,aligned-embeddings"


@app.command("finetune")
def finetune(
    ranker: Annotated[str, typer.Option(help="A cross-encoder: a folder, a hub id or a short name.")],
    collection: options.CollectionName,
    out: options.RunFolderPath,
    conditions: Annotated[str, typer.Option(help="Which of the four to train.")] = EVERY,
    seeds: Annotated[int, typer.Option(min=1, help="Trainings per condition.")] = 3,
    epochs: Annotated[int, typer.Option(min=1)] = 10,
    rate: Annotated[float, typer.Option(help="The highest learning rate.")] = 2e-5,
    negatives: Annotated[int, typer.Option(min=1, help="Sampled per positive.")] = 3,
    negatives_from: Annotated[str, typer.Option(help="Their source: candidates or collection.")] = "candidates",
    positives: Annotated[
        int | None,
        typer.Option(min=1, help="Relevant documents of a query per epoch, drawn anew; else all."),
    ] = None,
    batch: Annotated[int, typer.Option(min=1, help="Pairs per step.")] = 16,
    max_length: Annotated[int, typer.Option(min=8, help="Tokens of a pair that are read.")] = 256,
    positive: Annotated[int, typer.Option(min=1, help="Documents graded so or higher are relevant.")] = 1,
    patience: Annotated[int | None, typer.Option(min=1, help="Stop after N epochs without a better one.")] = None,
    depth: options.Depth = 100,
    run: options.FromRun = None,
    queries: Annotated[
        int | None, typer.Option("--queries", min=1, help="Only the first N judged queries.")
    ] = None,
    seed: Annotated[
        int,
        typer.Option("--seed", min=0, max=2**32 - 1, help="Of the split, the first training and the intervals."),
    ] = 0,
    device: options.Device = "cpu",
    json: options.AsJson = False,
) -> None:
    """Fine-tune a cross-encoder, all of it or its embeddings, aligned with the collection's IDF or not."""
    say(f"fine-tuning {ranker} on {collection}: {conditions}")
    from whyrank.learning.finetuning.api import finetune as run_finetuning

    result = run_finetuning(
        ranker, collection, conditions=conditions, seeds=seeds, epochs=epochs, rate=rate, negatives=negatives,
        negatives_from=negatives_from, positives=positives, batch=batch, max_length=max_length, positive=positive,
        patience=patience, depth=depth, run=run, queries=queries, seed=seed, device=device, out=out,
        caller=terminal(),
    )  # fmt: skip
    print_json(result) if json else show(result)
    suggest(
        f"open {out / 'report.html'} in a browser",
        command("rank", "--ranker", out / str(result.best.model), "--collection", collection, "-o", "RUN"),
    )


def show(result: FineTuning) -> None:
    """The means and the verdict, on stdout."""
    from whyrank.cli.means_table import print_means

    print_means(result.means)
    for sentence in result.verdict():
        print(sentence)
