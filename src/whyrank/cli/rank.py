"""`whyrank rank`: a first stage, re-ranked."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from whyrank.cli import options
from whyrank.cli.caller import asked
from whyrank.cli.console import command, progress_bar, say, suggest
from whyrank.cli.opened import open_for_queries
from whyrank.collections.given import RUN_FILE, first_stage_of
from whyrank.core.errors import UserError

if TYPE_CHECKING:
    from whyrank.rankers.ranker import Ranker


def rank(
    ranker: Annotated[str, typer.Option(help="A folder, a hub id or a short name ('whyrank get' lists them).")],
    collection: options.CollectionName,
    out: options.RunFolderPath,
    run: Annotated[Path | None, typer.Option(help="Your first stage, a TREC run; default: BM25.")] = None,
    k: Annotated[int, typer.Option("-k", min=1, help="How many of the first stage's documents to re-rank.")] = 100,
    queries: Annotated[int | None, typer.Option("-n", min=1, help="Only the first n queries.")] = None,
    passages: Annotated[
        str | None, typer.Option(help="'max': a long document counts as its best passage.")
    ] = None,
) -> None:
    """Re-rank a first stage and write a TREC run."""
    say(f"ranking {collection} with {ranker}")
    if passages not in (None, "max"):
        raise UserError(f"--passages {passages} is not known", todo="give --passages max, or leave it out")
    from whyrank.collections.records import fingerprint_of
    from whyrank.collections.trec import write_run
    from whyrank.core.runs import RunFolder
    from whyrank.rankers.load import load
    from whyrank.rankers.rerank import rerank

    opened = open_for_queries(collection)
    stage, origin = first_stage_of(opened, run, k)
    stage = dict(list(stage.items())[:queries])
    model = load(ranker, collection=opened)
    say(f"{ranker}: {model.source}")
    inputs = {
        "ranker": model.fingerprint(),
        "collection": opened.fingerprint(),
        "first_stage": fingerprint_of(stage),
        "k": k,
        "passages": passages,
    }
    folder = RunFolder.claim(out, "rank", inputs, asked=asked())
    started = time.monotonic()
    shards = folder.work("shards")
    total = sum(len(rows[:k]) for rows in stage.values())
    with progress_bar(f"re-ranking {origin}", total) as advance:
        result = rerank(_by_passages(model, passages), opened, stage, k=k, shards=shards, progress=advance)
    folder.begin()
    write_run(out / RUN_FILE, result.run)
    folder.finish(
        ranker=repr(model),
        collection=collection,
        split=opened.split,
        first_stage=origin,
        pairs=result.pairs,
        cut=result.cut,
    )
    seconds = time.monotonic() - started
    rate = f"{seconds:.1f} s ({result.pairs / seconds:.0f} pairs/s)"
    say(f"{result.pairs} pairs of {len(result.run)} queries in {rate}")
    if result.cut:
        say(f"{result.cut} of {result.pairs} documents are longer than the model reads and were cut; "
            "--passages max scores their passages instead")  # fmt: skip
    say(f"wrote {out / RUN_FILE}")
    missing = len(opened.queries) - len(result.run)
    if missing and queries is None:
        say(f"{missing} of the collection's {len(opened.queries)} queries have no document in the first stage")
    if opened.qrels:
        suggest(command("eval", out, "--qrels", collection))


def _by_passages(ranker: Ranker, passages: str | None) -> Ranker:
    if passages is None:
        return ranker
    from whyrank.rankers.neural import NeuralRanker
    from whyrank.rankers.passages import BestPassage

    if not isinstance(ranker, NeuralRanker):
        raise UserError(f"{ranker.name} reads documents of any length", todo="leave --passages out")
    return BestPassage(ranker)
