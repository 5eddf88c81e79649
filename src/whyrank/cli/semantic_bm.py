"""`whyrank semantic-bm`: a cross-encoder as a linear model of its matching heads and its IDF dimension."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from whyrank.cli import options
from whyrank.cli.caller import terminal
from whyrank.cli.commands import app
from whyrank.cli.console import command, console, print_json, say, suggest

if TYPE_CHECKING:
    from whyrank.circuits.semantic_bm.results import SemanticBM

#: Heads shown of each term of the example.
LEADING = 3


@app.command("semantic-bm")
def semantic_bm(
    ranker: Annotated[str, typer.Option(help="A cross-encoder: a folder, hub id or short name.")],
    collection: Annotated[
        list[str],
        typer.Option(help="A folder, a built-in name or an ir_datasets id; several are fitted together."),
    ],
    out: options.RunFolderPath,
    circuit: Annotated[
        Path | None, typer.Option(help="A run of whyrank circuit: its matching heads are the model's.")
    ] = None,
    heads: Annotated[str | None, typer.Option(help="The matching heads instead: 0.8,1.7,L2.H1, ...")] = None,
    run: Annotated[
        list[Path] | None, typer.Option(help="Your candidates, a TREC run for each collection; default: BM25's.")
    ] = None,
    depth: options.Depth = 20,
    queries: options.Queries = None,
    sep: Annotated[bool, typer.Option("--sep", help="Count attention to the final [SEP] as matching.")] = False,
    min_samples: Annotated[
        int, typer.Option(min=0, help="Paper's protocol: query lengths with more than N samples.")
    ] = 500,
    idf: Annotated[str, typer.Option(help="collection, wordfreq or a file: which way U0 points.")] = "collection",
    max_length: options.MaxLength = None,
    seed: Annotated[
        int, typer.Option(min=0, max=2**32 - 1, help="Of the splits, the random rivals and the intervals.")
    ] = 0,
    device: options.Device = "cpu",
    json: options.AsJson = False,
) -> None:
    """Fit a cross-encoder's score by its matching heads and IDF dimension; the fitted model is a ranker."""
    say(f"fitting SemanticBM to {ranker} on {', '.join(collection)}")
    from whyrank.circuits.semantic_bm.api import semantic_bm as fit

    result = fit(
        ranker, collection, circuit=circuit, heads=heads, run=run or None, depth=depth, queries=queries, sep=sep,
        min_samples=min_samples, idf=idf, max_length=max_length, seed=seed, device=device, out=out,
        caller=terminal(),
    )  # fmt: skip
    print_json(result) if json else show(result)
    if not result.paper.models:
        least = result.paper.least
        say(f"paper's protocol: no query length has more than {least} samples; --min-samples asks for fewer")
    suggest(
        f"open {out / 'report.html'} in a browser",
        command(
            "rank", "--ranker", f"semantic-bm:{out}", "--collection", collection[0], "--depth", depth, "-o", "RUN"
        ),
    )


def show(result: SemanticBM) -> None:
    """Every model under both protocols, and one score term by term, on stdout."""
    from rich.table import Table

    from whyrank.circuits.semantic_bm.tables import NAMES, spread_text, text_of

    title = f"agreement with {result.ranker.name} on the test part [95% interval over queries]"
    table = Table(title=title, title_justify="left")
    for name in (
        "model",
        "Pearson",
        "within queries",
        "Spearman by query",
        "nDCG@10",
        "Pearson, paper's protocol",
    ):
        table.add_column(name, justify="left" if name == "model" else "right")
    for model in result.default.models:
        other = result.paper.model(model.name)
        cells = (model.pearson, model.within, model.spearman, model.ndcg, other.pearson if other else None)
        table.add_row(NAMES[model.name], *(text_of(one) for one in cells))
    drawn, again = result.default.random_heads, result.paper.random_heads
    if drawn:
        spreads = (drawn.pearson, None, drawn.spearman, drawn.ndcg, again.pearson if again else None)
        table.add_row(f"random heads, {len(drawn.draws)} draws", *(spread_text(one) for one in spreads))
    table.add_row("cross-encoder", "", "", "", text_of(result.default.cross_encoder_ndcg), "")
    console().print(table)
    _show_example(result)


def _show_example(result: SemanticBM) -> None:
    from rich.table import Table

    example, found = result.example, result.example.explanation
    scores = f"{found.score:+.3f}, where {result.ranker.name} has {example.cross_encoder:+.3f}"
    title = f"one score, term by term: '{found.query}' and {example.docno}, {scores}"
    table = Table(title=title, title_justify="left")
    for name in ("token", "adds", "by its IDF", "by matching", "most through"):
        table.add_column(name, justify="left" if name in ("token", "most through") else "right")
    for term in found.terms:
        order = sorted(zip(found.heads, term.by_head, strict=True), key=lambda one: -abs(one[1]))
        leading = ", ".join(f"{head} {value:+.2f}" for head, value in order[:LEADING])
        numbers = (term.total, term.idf, sum(term.by_head))
        table.add_row(term.token, *(f"{number:+.3f}" for number in numbers), leading)
    table.add_row("(intercept)", f"{found.intercept:+.3f}", "", "", "")
    console().print(table)
