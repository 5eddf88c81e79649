"""`whyrank suppress`: can these words be kept from helping a document?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from whyrank.cli import editing, options
from whyrank.cli.caller import terminal
from whyrank.cli.commands import app
from whyrank.cli.console import command, print_json, say, suggest

#: Entries of the list that were dropped, shown on the screen.
SHOWN = 5


@app.command("suppress")
def suppress(
    ranker: editing.OneRanker,
    terms: Annotated[
        Path, typer.Option(help="The words to suppress: a text file, one word or phrase per line, # for comments.")
    ],
    collection: options.CollectionName,
    out: options.RunFolderPath,
    save: editing.Save = None,
    documents: Annotated[int, typer.Option(min=1, help="Documents that each word is put into.")] = 10,
    min_rise: Annotated[
        float, typer.Option(min=0, help="Keep pairs whose score rises by more, in its standard deviations.")
    ] = 0.1,
    scales: Annotated[str, typer.Option(help="The scales to try, of the rule.")] = "0.25,0.5,1,2,4,8",
    idf: editing.IdfSource = "collection",
    run: options.FromRun = None,
    depth: options.Depth = 20,
    rule: editing.Rule = "sd",
    randoms: Annotated[int, typer.Option(min=2, help="Random directions of the same size, as controls.")] = 10,
    seed: options.Seed = 0,
    device: options.Device = "cpu",
    json: options.AsJson = False,
) -> None:
    """Turn listed words down until a document does not gain by them; propose a scale, and save it if asked."""
    say(f"suppressing the words of {terms} in {ranker}, tried on {collection}")
    from whyrank.edits.api import suppress as run_suppress

    result = run_suppress(
        ranker, terms, collection, documents=documents, min_rise=min_rise, scales=scales, rule=rule,
        randoms=randoms, save=save,
        idf=idf, run=run, depth=depth, seed=seed, device=device, out=out, caller=terminal(),
    )  # fmt: skip
    for reason, entries in result.skipped.items():
        more = f" and {len(entries) - SHOWN} more" if len(entries) > SHOWN else ""
        say(f"dropped, {reason}: {', '.join(entries[:SHOWN])}{more}")
    if json:
        print_json(result)
    else:
        editing.show_holders([result.holders])
        editing.show_suppression(result)
    editing.warn(result.shared, result.spellings)
    say(result.proposal)
    if save:
        suggest(command("rank", "--ranker", save, "--collection", collection, "-o", "runs/suppressed"))
    else:
        suggest(f"open {out / 'report.html'} in a browser", "the same command again with --save FOLDER")
