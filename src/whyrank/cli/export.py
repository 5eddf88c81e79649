"""`whyrank export`: can an engine serve it?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from whyrank.cli import editing, options
from whyrank.cli.caller import terminal
from whyrank.cli.commands import app
from whyrank.cli.console import print_json, say, suggest
from whyrank.core.errors import UserError


@app.command("export")
def export(
    ranker: editing.OneRanker,
    out: Annotated[Path, typer.Option("-o", "--out", help="The folder to write, a new one.")],
    onnx: Annotated[bool, typer.Option("--onnx", help="Write ONNX, the one format there is.")] = False,
    int8: Annotated[
        bool, typer.Option("--int8", help="Also with weights of 8 bits; the difference is said.")
    ] = False,
    collection: Annotated[str, typer.Option("--collection", help="Whose texts it is checked on.")] = "demo",
    depth: options.Depth = 10,
    queries: Annotated[int, typer.Option("--queries", min=1, help="Check it on the first N queries.")] = 20,
    seed: options.Seed = 0,
    device: options.Device = "cpu",
    json: options.AsJson = False,
) -> None:
    """Write a ranker, edited or trained ones too, as ONNX with its tokenizer, checked against its own scores."""
    if not onnx:
        raise UserError("no format to export to", todo="give --onnx")
    say(f"exporting {ranker}")
    from whyrank.edits.export.api import export as run_export

    result = run_export(
        ranker, out=out, onnx=onnx, int8=int8, collection=collection, depth=depth, queries=queries, seed=seed,
        device=device, caller=terminal(),
    )  # fmt: skip
    if json:
        print_json(result)
    else:
        for sentence in result.verdict():
            print(sentence, flush=True)
    suggest(f"open {out / 'report.html'} in a browser", "docs/export.md says how engines load it")
