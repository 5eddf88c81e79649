"""`whyrank idf`: does this ranker know how rare a word is?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from whyrank.cli import editing, options
from whyrank.cli.caller import terminal
from whyrank.cli.commands import app
from whyrank.cli.console import command, console, print_json, say, suggest

if TYPE_CHECKING:
    from whyrank.edits.idf import IdfDirection


@app.command("idf")
def idf(
    ranker: editing.OneRanker,
    out: options.RunFolderPath,
    collection: editing.CollectionIfAny = None,
    idf: editing.IdfSource = "collection",
    vectors: Annotated[int, typer.Option(min=1, help="How many singular vectors to look at.")] = 10,
    device: options.Device = "cpu",
    json: options.AsJson = False,
) -> None:
    """Correlate the singular vectors of a ranker's embeddings with IDF, and draw it."""
    say(f"the embeddings of {ranker} against the IDF of {collection if idf == 'collection' else idf}")
    from whyrank.edits.api import idf as run_idf

    result = run_idf(ranker, collection, idf=idf, vectors=vectors, device=device, out=out, caller=terminal())
    print_json(result) if json else show(result)
    how = ["--idf", idf] if idf != "collection" else []
    suggest(
        f"open {out / 'report.html'} in a browser",
        command(
            "edit", "--ranker", ranker, *how, "--up", "TERM=2sd", "--preview", "--collection", collection or "C"
        ),
    )


def show(result: IdfDirection) -> None:
    """One row per vector, on stdout."""
    from rich.table import Table

    formulas = list(dict.fromkeys(one.formula for one in result.correlations))
    table = Table(title=f"Pearson's r with the IDF of {result.idf}, whole words", title_justify="left")
    table.add_column("vector")
    for column in ("singular value", *(f"r ({formula})" for formula in formulas), "words"):
        table.add_column(column, justify="right")
    for vector in dict.fromkeys(one.vector for one in result.correlations):
        mine = [one for one in result.correlations if one.vector == vector]
        cells = [one.r.text("+.3f") for one in mine]
        table.add_row(f"U{vector}", f"{mine[0].singular_value:.2f}", *cells, str(mine[0].r.pairs))
    console().print(table)
