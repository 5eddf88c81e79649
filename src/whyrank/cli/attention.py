"""`whyrank attention`: where does a head look?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from whyrank.cli import options
from whyrank.cli.caller import terminal
from whyrank.cli.commands import app
from whyrank.cli.console import command, console, print_json, say, suggest


@app.command("attention")
def attention(
    ranker: Annotated[str, typer.Option(help="A folder, hub id or short name.")],
    head: Annotated[str, typer.Option(help="One head: 10.1, or L10.H1.")],
    query: Annotated[str, typer.Option(help="The query, or the id of one of the collection's.")],
    doc: Annotated[str, typer.Option(help="A text, a text file, or an id of the collection.")],
    collection: Annotated[str | None, options.COLLECTION] = None,
    side: Annotated[str, typer.Option(help="Encoders apart: document or query.")] = "document",
    max_length: options.MaxLength = None,
    out: Annotated[Path | None, typer.Option("-o", "--out", help="A run folder to write.")] = None,
    device: options.Device = "cpu",
    json: options.AsJson = False,
) -> None:
    """Show where one attention head looks on one query and document."""
    say(f"reading head {head} of {ranker}")
    from rich.table import Table

    from whyrank.explain.attention import attention as run_attention

    result = run_attention(
        ranker, head, query, doc, collection=collection, side=side, max_length=max_length, device=device, out=out,
        caller=terminal(),
    )  # fmt: skip
    if json:
        print_json(result)
    else:
        screen = console()
        for sentence in result.verdict():
            screen.print(sentence)
        table = Table("token", "reads", "attention")
        for reader, read, weight in result.strongest(12):
            table.add_row(reader, read, f"{weight:.3f}")
        screen.print(table)
    if out is not None:
        suggest(f"open {out / 'report.html'} in a browser")
    else:
        suggest(command("patch", "--help"))
