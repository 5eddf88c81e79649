"""`whyrank rank`: candidates, re-ranked."""

from __future__ import annotations

from typing import Annotated

import typer

from whyrank.cli import options
from whyrank.cli.caller import terminal
from whyrank.cli.commands import app
from whyrank.cli.console import command, print_json, say, suggest


@app.command("rank")
def rank(
    ranker: Annotated[str, typer.Option(help="A folder, a hub id or a short name ('whyrank get' lists them).")],
    collection: options.CollectionName,
    out: options.RunFolderPath,
    run: options.FromRun = None,
    depth: options.Depth = 100,
    queries: options.Queries = None,
    passages: Annotated[
        str | None, typer.Option(help="'max': a long document counts as its best passage.")
    ] = None,
    device: options.Device = "cpu",
    json: options.AsJson = False,
) -> None:
    """Re-rank each query's candidates and write a TREC run."""
    say(f"ranking {collection} with {ranker}")
    from whyrank.rankers.api import rank as ranked

    result = ranked(
        ranker, collection, run=run, depth=depth, queries=queries, passages=passages, device=device, out=out,
        caller=terminal(),
    )  # fmt: skip
    if json:
        print_json(result)
    if result.cut and passages is None:
        say(f"{result.cut} of {result.pairs} documents are longer than the model reads and were cut; "
            "--passages max scores their passages instead")  # fmt: skip
    if result.without_candidates and queries is None:
        say(f"{result.without_candidates} of the collection's queries have no candidates")
    suggest(command("eval", out, "--qrels", collection))
