"""`whyrank rank`: candidates, re-ranked."""

from __future__ import annotations

from typing import Annotated

import typer

from whyrank.cli import options
from whyrank.cli.caller import terminal
from whyrank.cli.commands import app
from whyrank.cli.console import command, print_json, say, suggest
from whyrank.cli.grouped import grouped
from whyrank.cli.reading import opened


@app.command("rank")
@grouped
def rank(
    *,
    ranker: Annotated[str, typer.Option(help="A folder, a hub id or a short name ('whyrank get' lists them).")],
    collection: options.CollectionName,
    out: options.RunFolderPath,
    run: options.FromRun = None,
    first_stage: Annotated[
        str, typer.Option(help="Candidates without --run: bm25, or all documents (small collections).")
    ] = "bm25",
    depth: Annotated[
        int | None, typer.Option(min=1, help="How many of each query's candidates to take; default: 100.")
    ] = None,
    queries: options.Queries = None,
    max_pairs: Annotated[
        int, typer.Option(min=1, help="With --first-stage all: the most queries times documents.")
    ] = 100_000,
    passages: Annotated[
        str | None, typer.Option(help="'max': a long document counts as its best passage.")
    ] = None,
    reading: options.Reading,
    device: options.Device = "cpu",
    json: options.AsJson = False,
) -> None:
    """Re-rank each query's candidates and write a TREC run."""
    say(f"ranking {collection} with {ranker}")
    from whyrank.rankers.api import rank as ranked

    result = ranked(
        ranker, opened(collection, **vars(reading)), run=run, first_stage=first_stage, depth=depth,
        queries=queries, max_pairs=max_pairs, passages=passages, device=device, out=out, caller=terminal(),
    )  # fmt: skip
    if json:
        print_json(result)
    if result.cut and passages is None:
        say(f"{result.cut} of {result.pairs} documents are longer than the model reads and were cut; "
            "--passages max scores their passages instead")  # fmt: skip
    if result.without_candidates and queries is None:
        say(f"{result.without_candidates} of the collection's queries have no candidates")
    suggest(command("eval", out, "--qrels", collection))
