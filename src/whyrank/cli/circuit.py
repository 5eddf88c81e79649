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
    select: Annotated[
        str,
        typer.Option(
            help="halves: heads by their total effect, chosen on half of the queries, confirmed on the other; "
            "gap: hop by hop, by shares of the whole gap."
        ),
    ] = "halves",
    threshold: Annotated[
        str | None,
        typer.Option(
            help="halves: share (of the gap, a head; default 0.01), edge (of what receivers carry; 0.05), "
            "deviations (of the usual head); gap: relative (to the largest; 0.3), quantile, share (0.01); all "
            "hold."
        ),
    ] = None,
    decide: Annotated[
        str | None,
        typer.Option(
            help="Of select gap. interval: must exclude 0; sure: above the cut-off in 97.5% of draws; point."
        ),
    ] = None,
    heads: Annotated[
        str | None,
        typer.Option(
            help="Measure these, too: 'matching=0.8,1.7;scoring=10.1', a file or a run that has them, or paper."
        ),
    ] = None,
    search: Annotated[
        bool, typer.Option("--search/--no-search", help="Search for heads, or measure only those of --heads.")
    ] = True,
    pairs_to_select: Annotated[
        int, typer.Option(min=2, help="Pairs of all sets and both halves, heads to the score.")
    ] = 400,
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
    """Find the heads that make a cross-encoder's score, how they connect, and what each does; or test your own."""
    doing = "searching the circuit of" if search else "measuring heads of"
    say(f"{doing} {ranker} with {', '.join(path.name for path in pairs)}")
    from whyrank.circuits.api import circuit as find

    result = find(
        ranker, pairs, select=select, threshold=threshold, decide=decide, heads=heads, search=search,
        pairs_to_select=pairs_to_select, pairs_to_logits=pairs_to_logits, pairs_to_heads=pairs_to_heads,
        search_steps=search_steps, freeze_mlp=freeze_mlp, idf=idf, collection=collection, randoms=randoms,
        skip=skip, pad=pad, max_length=max_length, seed=seed, device=device, out=out, caller=terminal(),
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
    """The roles, on stdout; of heads that were brought, too."""
    for one in (result, result.brought):
        if one is not None:
            _show_roles(one)


def _show_roles(result: Circuit) -> None:
    from rich.table import Table

    from whyrank.circuits.report import role_cells
    from whyrank.encoders.site import short_name

    whose = f"{len(result.heads)} heads" + (f", brought ({result.name})" if result.was_brought else "")
    table = Table(title=f"the circuit of {result.ranker}: {whose}", title_justify="left")
    for name in ("role", "heads", "mean r [95% interval]", "all other heads"):
        table.add_column(name)
    for role, heads in result.roles.items():
        table.add_row(role, " ".join(map(short_name, heads)) or "–", *role_cells(result.tests.roles.get(role)))
    console().print(table)


def _notes(result: Circuit) -> None:
    """How heads were selected, whether the circuit is enough and needed, by each ablation and by size, and whether
    anything was tested."""
    from whyrank.circuits.brought_report import brought_sentences
    from whyrank.circuits.curves.report import curve_sentences
    from whyrank.circuits.report import ablation_sentence
    from whyrank.circuits.selection_report import selection_sentence
    from whyrank.evaluation.interval import FEWEST_QUERIES, TOO_FEW

    if result.selection:
        say(selection_sentence(result.selection).rstrip("."))
    for name, measured in result.faithfulness.items():
        for kind, found in measured.kinds.items():
            say(ablation_sentence(name, kind, found.only_circuit, found.without_circuit))
    for sentence in curve_sentences(result.curves):
        say(sentence)
    for sentence in brought_sentences(result.brought) if result.brought else ():
        say(sentence.rstrip("."))
    if result.queries < FEWEST_QUERIES:
        say(f"{TOO_FEW} ({result.queries}) for intervals: heads above the cut-off are kept, none is tested")
