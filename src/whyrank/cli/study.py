"""`whyrank study`: a paper end to end."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from whyrank.cli import options
from whyrank.cli.caller import terminal
from whyrank.cli.commands import app
from whyrank.cli.console import command, console, print_json, say, suggest
from whyrank.cli.study_disentangled import disentangled

if TYPE_CHECKING:
    from whyrank.papers.term_frequency.atlas import Atlas

study = typer.Typer(help="The papers end to end, their tables beside ours.", no_args_is_help=True)
app.add_typer(study, name="study")
study.command("disentangled")(disentangled)


@study.command("semantic-circuit")
def semantic_circuit(
    out: options.RunFolderPath,
    ranker: Annotated[str, typer.Option(help="A cross-encoder.")] = "ce-minilm-l12",
    collection: options.CollectionName = "trec-rag-2024",
    terms: Annotated[
        Path | None, typer.Option(help="Words to suppress, one per line; default: rare words of the collection.")
    ] = None,
    extras: Annotated[
        list[str] | None, typer.Option("--with", help="Also 'finetune' (hours on two cores).")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Small sizes: about eight minutes, not for conclusions.")
    ] = False,
    seed: options.Seed = 0,
    device: options.Device = "cpu",
    json: options.AsJson = False,
) -> None:
    """'Pathway to Relevance': the circuit, its roles, IDF edits, suppression, SemanticBM; about an hour."""
    say(f"study semantic-circuit: {ranker} on {collection}{', quick' if quick else ''}")
    from whyrank.papers.api import study

    found = study(
        "semantic-circuit", ranker=ranker, collection=collection, out=out, terms=terms, extras=tuple(extras or ()),
        quick=quick, seed=seed, device=device, caller=terminal(),
    )  # fmt: skip
    if json:
        print_json(found)
    suggest(
        f"open {out / 'report.html'} in a browser",
        command("rank", "--ranker", f"semantic-bm:{out / 'semantic-bm'}", "--collection", collection, "-o", "RUN"),
    )


@study.command("term-frequency")
def term_frequency(
    out: options.RunFolderPath,
    ranker: Annotated[list[str], typer.Option(help="A neural ranker; again for more: they are compared.")],
    collection: options.CollectionName = "trec-rag-2024",
    term: options.TermPolicy = "effect",
    hide: Annotated[
        bool, typer.Option("--hide-insignificant", help="Colour only what is significant in maps.")
    ] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Small sizes, for a first look.")] = False,
    seed: options.Seed = 0,
    device: options.Device = "cpu",
    json: options.AsJson = False,
) -> None:
    """How rankers count a term: heads, positions, saturation, flow, estimators, open questions, an atlas."""
    say(f"study term-frequency: {', '.join(ranker)} on {collection}{', quick' if quick else ''}")
    from whyrank.papers.api import study

    atlas = study(
        "term-frequency", ranker=ranker, collection=collection, out=out, term=term, hide_insignificant=hide,
        quick=quick, seed=seed, device=device, caller=terminal(),
    )  # fmt: skip
    print_json(atlas) if json else show_atlas(cast("Atlas", atlas))
    suggest(f"open {out / 'report.html'} in a browser")


def show_atlas(atlas: Atlas) -> None:
    """One row per ranker, on stdout: its significant heads, and how the paper's findings fare."""
    from rich.table import Table

    from whyrank.pages.findings import AGREES, DIFFERS, OPEN

    table = Table(title="heads that carry an appended term, and findings of the paper", title_justify="left")
    table.add_column("ranker")
    for name in ("significant heads", "mean depth", "largest share", "agree", "differ", "open"):
        table.add_column(name, justify="right")
    for one in atlas.rankers:
        largest = f"{one.carrying[0].head} {one.carrying[0].share:.2f}" if one.carrying else "–"
        counts = [str(sum(row.verdict == verdict for row in one.findings)) for verdict in (AGREES, DIFFERS, OPEN)]
        table.add_row(one.ranker, str(one.significant), f"{one.depth:.2f}", largest, *counts)
    console().print(table)
