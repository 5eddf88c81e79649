"""`whyrank pairs`: minimal pairs out of a collection."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from whyrank.cli import options
from whyrank.cli.caller import terminal
from whyrank.cli.commands import app
from whyrank.cli.console import command, say, suggest
from whyrank.cli.grouped import grouped


@app.command("pairs")
@grouped
def pairs(
    *,
    axiom: options.Axioms,
    collection: options.CollectionName,
    out: Annotated[Path, typer.Option("-o", "--out", help="The pairs file to write (JSON lines).")],
    ranker: Annotated[list[str] | None, typer.Option(help="Align for this ranker; again for more.")] = None,
    choices: options.PairChoices,
    device: options.Device = "cpu",
) -> None:
    """Make minimal pairs for IR axioms, token-aligned for the rankers that will read them."""
    say(f"making pairs for {','.join(axiom)} from {collection}")
    from whyrank.axioms.api import pairs as make

    make(",".join(axiom), collection, ranker or [], device=device, out=out, caller=terminal(), **vars(choices))
    name = (ranker or ["bi-minilm-l6"])[0]
    suggest(command("audit", "--ranker", name, "--collection", collection, "--pairs", out, "-o", "runs/audit"))
