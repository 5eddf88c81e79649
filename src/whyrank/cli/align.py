"""`whyrank align`: a ranker that takes words for as rare as they are in my collection."""

from __future__ import annotations

from typing import Annotated

import typer

from whyrank.cli import editing, options
from whyrank.cli.caller import terminal
from whyrank.cli.commands import app
from whyrank.cli.console import console, print_json, say
from whyrank.core.errors import UserError


@app.command("align")
def align(
    ranker: editing.OneRanker,
    collection: options.CollectionName,
    save: editing.Save = None,
    preview: editing.Preview = False,
    out: editing.RunFolderIfAny = None,
    idf: editing.IdfSource = "collection",
    formula: Annotated[str, typer.Option(help="bm25 or plain.")] = "bm25",
    run: options.FromRun = None,
    depth: options.Depth = 20,
    queries: options.Queries = None,
    seed: options.Seed = 0,
    device: options.Device = "cpu",
    json: options.AsJson = False,
) -> None:
    """Set a ranker's IDF dial to a collection's own IDF, for all its tokens at once."""
    say(f"aligning {ranker} with {collection}")
    if not (save or preview):
        raise UserError("neither --preview nor --save is given", todo="give --save FOLDER, or --preview")
    from whyrank.edits.api import align as run_align

    result = run_align(
        ranker, collection, preview=preview, save=save, idf=idf, formula=formula, run=run, depth=depth,
        queries=queries, seed=seed, device=device, out=out, caller=terminal(),
    )  # fmt: skip
    if json:
        print_json(result)
    else:
        console().print(str(result.alignment))
    if result.ranking and not json:
        editing.show_ranking(result.ranking)
    how = [
        *(["--idf", idf] if idf != "collection" else []),
        *(["--formula", formula] if formula != "bm25" else []),
    ]
    again = ["align", "--ranker", ranker, "--collection", collection, *how]
    editing.suggest_after(save, out, collection, again)
