"""`whyrank study disentangled`: DGRe and its baselines, trained, compared, ablated and opened."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from whyrank.cli import options
from whyrank.cli.caller import terminal
from whyrank.cli.console import command, print_json, say, suggest
from whyrank.cli.grouped import grouped


@dataclass(frozen=True)
class SizeOptions:
    """Sizes of the trainings, then of what is done to the trained models: `papers.disentangled.sizes.Sizes`."""

    folds: Annotated[
        int | None, typer.Option(min=1, help="Default 5, or the one split of a fixed test (trec-rag-2024).")
    ] = None
    seeds: Annotated[int | None, typer.Option(min=1, help="Trainings of BERT and of DGRe; default 3.")] = None
    other_seeds: Annotated[int | None, typer.Option(min=1, help="Trainings of all others; default 1.")] = None
    queries: Annotated[
        int | None, typer.Option(min=1, help="Only the first N queries (of a fixed test's: to learn from).")
    ] = None
    tests: Annotated[int | None, typer.Option(min=1, help="Only the first N queries of a fixed test.")] = None
    epochs: Annotated[int | None, typer.Option(min=1, help="Default 5; the paper: 20.")] = None
    max_length: Annotated[int | None, typer.Option(min=10, help="Tokens of a sequence; default 128.")] = None
    chunks: Annotated[int | None, typer.Option(min=1, help="Sequences per document; default 2.")] = None
    batch: Annotated[int | None, typer.Option(min=1, help="Pairs per step; default 16.")] = None
    depth: Annotated[int | None, typer.Option(min=1, help="Candidates per query; default 100.")] = None
    positives: Annotated[
        int | None, typer.Option(min=1, help="Relevant documents per query and epoch; default 4.")
    ] = None
    audit_documents: Annotated[
        int | None, typer.Option(min=1, help="Documents per axiom, of the opened models' audits; default 60.")
    ] = None
    patched_pairs: Annotated[
        int | None, typer.Option(min=1, help="Pairs whose heads are patched; default 40.")
    ] = None
    readings: Annotated[
        int | None, typer.Option(min=2, help="Candidates whose attention is read; default 120.")
    ] = None
    word_rate: Annotated[
        float | None, typer.Option(help="The rate of new weights in DRMM and Conv-KNRM; default 0.001.")
    ] = None


@grouped
def disentangled(
    *,
    out: options.RunFolderPath,
    collection: options.CollectionName = "trec-rag-2024",
    run: options.FromRun = None,
    backbone: Annotated[
        str | None, typer.Option(help="What all transformers start from; default bi-minilm-l6.")
    ] = None,
    sizes: SizeOptions,
    models: Annotated[str | None, typer.Option(help="Rows of Table 2: bm25,bert,dgre,...; default all.")] = None,
    only: Annotated[
        str | None,
        typer.Option(help="Some parts: table1 to table6, layers, figures, opened; default all."),
    ] = None,
    extra_rows: Annotated[
        bool, typer.Option(help="Rows of Tables 3 and 5 that the paper has not: learned threshold, InfoNCE, CLUB.")
    ] = True,
    query: Annotated[
        str | None, typer.Option(help="The judged query of the figures; default: a test query with many relevant.")
    ] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="A setting of all trainings, as of whyrank train: key=value.")
    ] = None,
    train_qrels: Annotated[
        str | None, typer.Option(help="Judgements to learn from, a file or a collection; the own are the test.")
    ] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Train N models at a time, one thread each.")] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Small sizes: less than ten minutes, not for conclusions.")
    ] = False,
    seed: Annotated[
        int,
        typer.Option("--seed", min=0, max=2**32 - 1, help="Of the folds, the first training and the intervals."),
    ] = 0,
    json: options.AsJson = False,
) -> None:
    """DGRe and its baselines: Tables 1 to 6 and Figures 6 to 8 of the paper; then BERT and DGRe opened."""
    say(f"study disentangled: {backbone or 'the default backbone'} on {collection}{', quick' if quick else ''}")
    from whyrank.learning.options import read_assignments
    from whyrank.papers.api import study
    from whyrank.papers.disentangled.report import statement
    from whyrank.papers.disentangled.results import Disentangled

    found = study(
        "disentangled", backbone=backbone, collection=collection, out=out, run=run, train_qrels=train_qrels,
        settings=read_assignments(set_ or []), only=only, models=models, extra_rows=extra_rows, query=query,
        workers=workers, quick=quick, seed=seed, caller=terminal(), **vars(sizes),
    )  # fmt: skip
    assert isinstance(found, Disentangled)
    print_json(found) if json else print("\n".join(statement(found)))
    suggest(f"open {out / 'report.html'} in a browser", *_next(out, collection))


def _next(out: Path, collection: str) -> list[str]:
    """Audit DGRe itself, where it was trained."""
    model = next(iter(sorted((out / "trainings" / "dgre" / "models").glob("fold1-seed*"))), None)
    if model is None:
        return []
    return [command("audit", "--ranker", model, "--collection", collection, "-o", "RUN")]
