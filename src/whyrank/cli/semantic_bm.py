"""`whyrank semantic-bm`: a cross-encoder as a linear model of its matching heads and its IDF dimension."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from whyrank.cli import options
from whyrank.cli.caller import asked
from whyrank.cli.console import command, console, progress_bar, say, suggest
from whyrank.cli.opened import open_for_queries
from whyrank.collections.given import first_stage_of
from whyrank.collections.records import fingerprint_of
from whyrank.core.errors import UserError, located

if TYPE_CHECKING:
    from whyrank.circuits.head import Head
    from whyrank.rankers.cross_encoder import CrossEncoder

#: Heads shown of each term of the example.
LEADING = 3


def semantic_bm(
    ranker: Annotated[str, typer.Option(help="A cross-encoder: a folder, hub id or short name.")],
    collection: options.CollectionName,
    out: options.RunFolderPath,
    circuit: Annotated[
        Path | None, typer.Option(help="A run of whyrank circuit: its matching heads are the model's.")
    ] = None,
    heads: Annotated[str | None, typer.Option(help="The matching heads instead: 0.8,1.7,L2.H1, ...")] = None,
    run: Annotated[Path | None, typer.Option(help="Your first stage, a TREC run; default: BM25.")] = None,
    depth: Annotated[int, typer.Option(min=1, help="How many of the first stage's documents a query.")] = 20,
    queries: Annotated[int | None, typer.Option("-n", min=1, help="Only the first n queries.")] = None,
    sep: Annotated[bool, typer.Option("--sep", help="Count attention to the final [SEP] as matching.")] = False,
    least: Annotated[
        int, typer.Option(min=0, help="Paper's protocol: query lengths with more than so many samples.")
    ] = 500,
    idf: Annotated[str, typer.Option(help="collection, wordfreq or a file: which way U0 points.")] = "collection",
    max_length: Annotated[
        int | None, typer.Option(min=8, help="Read at most so many tokens: shorter texts, faster.")
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, max=2**32 - 1, help="Of the splits, the random rivals and the intervals.")
    ] = 0,
) -> None:
    """Fit a cross-encoder's score by its matching heads and IDF dimension; the fitted model is a ranker."""
    say(f"fitting SemanticBM to {ranker} on {collection}")
    if (circuit is None) == (heads is None):
        raise UserError(
            "which heads match?", todo="give either --circuit RUN (of whyrank circuit) or --heads 0.8,1.7,..."
        )
    from whyrank.circuits.reading import cross_encoder
    from whyrank.circuits.semantic_bm.fit import Choices, fit
    from whyrank.circuits.semantic_bm.idf_dimension import IdfDimension
    from whyrank.circuits.semantic_bm.protocol import require_queries
    from whyrank.circuits.semantic_bm.report import write_semantic_bm
    from whyrank.circuits.semantic_bm.samples import candidates, check_queries, read_samples
    from whyrank.collections.idf import token_idf
    from whyrank.core.atomic import whole_file
    from whyrank.core.runs import RunFolder
    from whyrank.rankers.load import load

    settings: dict[str, Any] = {"max_length": max_length} if max_length else {}
    opened = cross_encoder(load(ranker, **settings))
    say(f"{opened.name}: {opened.source}; {opened.encoder}")
    chosen, taken = _heads(opened, circuit, heads)
    texts = open_for_queries(collection)
    stage, origin = first_stage_of(texts, run, depth)
    stage = dict(list(stage.items())[:queries])
    require_queries(sum(bool(rows) for rows in stage.values()), where=texts.name)
    pairs = candidates(texts, stage, depth)
    check_queries(opened, pairs)
    rarity = token_idf(opened.pieces.tokenizer, idf, texts)
    u0 = IdfDimension.of(opened, rarity)
    inputs: dict[str, Any] = {
        "ranker": [opened.name, opened.fingerprint()], "collection": texts.fingerprint(),
        "judgements": texts.judgements, "split": texts.split,
        "first_stage": fingerprint_of(stage), "depth": depth, "heads": list(map(str, chosen)),
        "taken": list(map(str, taken)), "sep": sep, "least": least, "seed": seed,
        "idf": hashlib.sha256(rarity.of("bm25").tobytes()).hexdigest(),
    }  # fmt: skip
    folder = RunFolder.claim(out, "semantic-bm", inputs, asked=asked())
    folder.begin()
    shards = folder.work("shards")
    with progress_bar(f"reading {origin}", len(pairs)) as advance:
        samples = read_samples(opened, pairs, shards, advance)
    say(f"fitting {len(chosen)} heads, and their rivals, to {len(samples)} scores")
    result = fit(opened, texts, samples, u0, Choices(tuple(chosen), tuple(taken), sep, least, seed))
    summary = {
        **result.summary,
        "first_stage": origin,
        "depth": depth,
        "circuit": str(circuit) if circuit else None,
    }
    manifest = folder.record(samples=len(samples), queries=summary["queries"], cut=samples.cut)
    with whole_file(out / "predictions.parquet") as partial:
        result.predictions.to_parquet(partial, index=False)
    points = result.predictions.query("protocol == 'default' and split == 'test'")
    rows = list(zip(points["qid"], points["docno"], points["cross_encoder"], points["semantic_bm"], strict=True))
    paths = [out / "predictions.parquet", *write_semantic_bm(summary, rows, out, manifest)]
    folder.save(manifest)
    show(summary)
    say(f"wrote {', '.join(path.name for path in paths)} to {out}")
    suggest(
        f"open {out / 'report.html'} in a browser",
        command("rank", "--ranker", f"semantic-bm:{out}", "--collection", collection, "-k", depth, "-o", "RUN"),
    )


def _heads(ranker: CrossEncoder, circuit: Path | None, heads: str | None) -> tuple[list[Head], list[Head]]:
    """The matching heads, and all heads of the circuit, which the random ones are drawn outside of."""
    from whyrank.circuits.head import parse_heads
    from whyrank.circuits.results import Circuit, read_roles

    if circuit is None:
        chosen = parse_heads(heads or "", ranker.encoder)
        if not chosen:
            raise UserError("--heads names no head", todo="write --heads 0.8,1.7,...")
        return chosen, chosen
    roles = read_roles(circuit)
    taken = sorted({head for some in roles.values() for head in some})
    with located(circuit / Circuit.FILE):
        for head in taken:
            head.site().check(ranker.encoder.layers, ranker.encoder.heads)
    if not roles.get("matching"):
        raise UserError("this circuit has no matching head", where=circuit, todo="name some: --heads 0.8,1.7,...")
    return sorted(roles["matching"]), taken


def show(summary: dict[str, Any]) -> None:
    """Every model under both protocols, and one score term by term, on stdout."""
    from rich.table import Table

    from whyrank.circuits.semantic_bm.tables import NAMES, spread, with_interval

    default, paper = summary["protocols"]
    title = f"agreement with {summary['ranker']['name']} on the test part [95% interval over queries]"
    table = Table(title=title, title_justify="left")
    for name in ("model", "Pearson", "Spearman by query", "nDCG@10", "Pearson, paper's protocol"):
        table.add_column(name, justify="left" if name == "model" else "right")
    apart = {model["name"]: model["pearson"] for model in paper["models"]}
    for model in default["models"]:
        table.add_row(
            NAMES[model["name"]], with_interval(model["pearson"], "r"), with_interval(model["spearman"]),
            with_interval(model["ndcg"]), with_interval(apart.get(model["name"]), "r"),
        )  # fmt: skip
    drawn, again = default["random_heads"], paper["random_heads"]
    if drawn:
        cells = [spread(drawn[name]) for name in ("pearson", "spearman", "ndcg")]
        table.add_row(f"random heads, {len(drawn['draws'])} draws", *cells, spread(again and again["pearson"]))
    table.add_row("cross-encoder", "", "", with_interval(default["cross_encoder"]["ndcg"]), "")
    console().print(table)
    if not paper["models"]:
        say(f"paper's protocol: no query length has more than {paper['least']} samples; --least asks for fewer")
    _show_example(summary["example"], summary["ranker"]["name"])


def _show_example(example: dict[str, Any], ranker: str) -> None:
    from rich.table import Table

    scores = f"{example['score']:+.3f}, where {ranker} has {example['cross_encoder']:+.3f}"
    told = f"one score, term by term: '{example['query']}' and {example['docno']}, {scores}"
    table = Table(title=told, title_justify="left")
    for name in ("token", "adds", "by its IDF", "by matching", "most through"):
        table.add_column(name, justify="left" if name in ("token", "most through") else "right")
    for term in example["terms"]:
        order = sorted(zip(example["heads"], term["by_head"], strict=True), key=lambda one: -abs(one[1]))
        leading = ", ".join(f"{head} {value:+.2f}" for head, value in order[:LEADING])
        matching = sum(term["by_head"])
        table.add_row(term["token"], f"{term['total']:+.3f}", f"{term['idf']:+.3f}", f"{matching:+.3f}", leading)
    table.add_row("(intercept)", f"{example['intercept']:+.3f}", "", "", "")
    console().print(table)
