"""`whyrank circuit`: which heads make the score, and what each is for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from whyrank.cli import options
from whyrank.cli.caller import terminal
from whyrank.cli.commands import app
from whyrank.cli.console import command, console, print_json, say, suggest

if TYPE_CHECKING:
    from whyrank.circuits.results import Circuit


@app.command("circuit")
def circuit(
    ranker: Annotated[str, typer.Option(help="A cross-encoder: a folder, hub id or short name.")],
    pairs: Annotated[
        list[Path],
        typer.Option(help="Pairs files: TFC1 and STMC1 to search with; TFC2 and LNC1 to test counting, length."),
    ],
    out: options.RunFolderPath,
    threshold: Annotated[
        str, typer.Option(help="Least |share of the gap|: relative (to the largest), quantile, share; all hold.")
    ] = "relative=0.3,share=0.01",
    decide: Annotated[
        str, typer.Option(help="interval: must exclude 0; sure: above the cut-off in 97.5% of draws; point.")
    ] = "interval",
    pairs_to_logits: Annotated[int, typer.Option(min=2, help="Pairs of all sets, heads to the logits.")] = 500,
    pairs_to_heads: Annotated[
        int, typer.Option(min=2, help="Pairs of all sets, heads to other heads, and ablations.")
    ] = 100,
    search_steps: Annotated[int, typer.Option(min=1, help="Steps down from the logits, at most.")] = 6,
    freeze_mlp: Annotated[bool, typer.Option("--freeze-mlp", help="Hold MLPs, too, in the search.")] = False,
    idf: Annotated[
        str | None, typer.Option(help="collection, wordfreq or a file; default: counted in the pairs' documents.")
    ] = None,
    collection: Annotated[str | None, typer.Option(help="The collection that IDF is counted in.")] = None,
    randoms: Annotated[int, typer.Option(min=0, help="Random circuits to compare with.")] = 10,
    skip: Annotated[bool, typer.Option("--skip", help="Drop pairs that this ranker cannot align.")] = False,
    pad: options.Pad = False,
    max_length: options.MaxLength = None,
    seed: options.Seed = 0,
    device: options.Device = "cpu",
    json: options.AsJson = False,
) -> None:
    """Search a cross-encoder's circuit back from its logits, test what each head does, and draw it."""
    say(f"searching the circuit of {ranker} with {', '.join(path.name for path in pairs)}")
    from whyrank.circuits.api import circuit as find

    result = find(
        ranker, pairs, threshold=threshold, decide=decide, pairs_to_logits=pairs_to_logits,
        pairs_to_heads=pairs_to_heads, search_steps=search_steps, freeze_mlp=freeze_mlp, idf=idf,
        collection=collection, randoms=randoms, skip=skip, pad=pad, max_length=max_length, seed=seed,
        device=device, out=out, caller=terminal(),
    )  # fmt: skip
    print_json(result) if json else show(result)
    _notes(result)
    for sentence in result.changed_texts.other_sign_sentences() if result.changed_texts else ():
        say(f"{sentence} (pairs.parquet)")
    suggest(
        f"open {out / 'report.html'} in a browser",
        command(
            "semantic-bm", "--ranker", ranker, "--collection", collection or "C", "--circuit", out, "-o", "RUN"
        ),
    )


def show(result: Circuit) -> None:
    """The roles, on stdout."""
    from rich.table import Table

    from whyrank.circuits.report import role_cells
    from whyrank.encoders.site import short_name

    table = Table(title=f"the circuit of {result.ranker}: {len(result.heads)} heads", title_justify="left")
    for name in ("role", "heads", "mean r [95% interval]", "all other heads"):
        table.add_column(name)
    for role, heads in result.roles.items():
        table.add_row(role, " ".join(map(short_name, heads)) or "–", *role_cells(result.tests.roles.get(role)))
    console().print(table)


def _notes(result: Circuit) -> None:
    """Whether the circuit is enough and needed, by each ablation and by size, and whether anything was tested."""
    from whyrank.circuits.curves.report import curve_sentences
    from whyrank.circuits.report import ablation_sentence
    from whyrank.evaluation.interval import FEWEST_QUERIES, TOO_FEW

    for name, measured in result.faithfulness.items():
        for kind, found in measured.kinds.items():
            say(ablation_sentence(name, kind, found.only_circuit, found.without_circuit))
    for sentence in curve_sentences(result.curves):
        say(sentence)
    if result.queries < FEWEST_QUERIES:
        say(f"{TOO_FEW} ({result.queries}) for intervals: heads above the cut-off are kept, none is tested")
