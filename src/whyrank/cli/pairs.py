"""`whyrank pairs`: minimal pairs out of a collection."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from whyrank.cli import options
from whyrank.cli.caller import terminal
from whyrank.cli.commands import app
from whyrank.cli.console import command, say, suggest


@app.command("pairs")
def pairs(
    axiom: options.Axioms,
    collection: options.CollectionName,
    out: Annotated[Path, typer.Option("-o", "--out", help="The pairs file to write (JSON lines).")],
    ranker: Annotated[list[str] | None, typer.Option(help="Align for this ranker; again for more.")] = None,
    documents: options.Documents = 100,
    seed: options.Seed = 0,
    run: options.FromRun = None,
    term: options.TermPolicy = "idf",
    filler: options.FillerPolicy = "a",
    depth: options.Depth = 100,
    ranks: options.Ranks = None,
    having: options.Having = None,
    synonyms: options.Synonyms = None,
    wordnet: options.WordNet = True,
    device: options.Device = "cpu",
) -> None:
    """Make minimal pairs for IR axioms, token-aligned for the rankers that will read them."""
    say(f"making pairs for {','.join(axiom)} from {collection}")
    from whyrank.axioms.api import pairs as make

    make(
        ",".join(axiom), collection, ranker or [], out=out, caller=terminal(), documents=documents, seed=seed,
        run=run, term=term, filler=filler, depth=depth, ranks=ranks, having=having, synonyms=synonyms,
        wordnet=wordnet, device=device,
    )  # fmt: skip
    name = (ranker or ["bi-minilm-l6"])[0]
    suggest(command("audit", "--ranker", name, "--collection", collection, "--pairs", out, "-o", "runs/audit"))
