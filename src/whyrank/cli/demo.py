"""`whyrank demo`: the first minute."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from whyrank.cli import options
from whyrank.cli.caller import terminal
from whyrank.cli.commands import app
from whyrank.cli.console import command, console, print_json, progress_bar, say, suggest

if TYPE_CHECKING:
    from whyrank.collections.records import Qrels, Retrieved, Run
    from whyrank.explain.explanation import Explanation


@app.command("demo")
def demo(
    ranker: Annotated[str, typer.Option(help="The ranker to show.")] = "ce-minilm-l12",
    out: Annotated[Path, typer.Option("-o", "--out", help="Where to put the runs and the figure.")] = Path(
        "runs/demo"
    ),
    device: options.Device = "cpu",
    json: options.AsJson = False,
) -> None:
    """BM25 against a neural ranker on the built-in collection, and why one document scores as it does."""
    say("whyrank demo: 108 short documents, 26 queries, graded by hand")
    from whyrank.cli.eval import show
    from whyrank.collections.bm25 import first_stage
    from whyrank.collections.demo import open_demo
    from whyrank.collections.trec import write_run
    from whyrank.core.caller import Caller
    from whyrank.core.runs import Run as Work
    from whyrank.evaluation.evaluate import evaluate
    from whyrank.explain.api import explain
    from whyrank.rankers.load import load
    from whyrank.rankers.rerank import rerank, safe_name

    collection = open_demo()
    with Work.open(out, "demo", {}, terminal(), renew=True) as work:
        say(f"loading {ranker}")
        model = load(ranker, collection=collection, device=device)
        say(f"{ranker}: {model.source}")
        bm25 = first_stage(collection, k=100)
        with progress_bar("re-ranking BM25", sum(map(len, bm25.values()))) as advance:
            neural = rerank(model, collection, bm25, progress=advance).run
        work.begin()
        work.keep_work()
        runs = {"bm25": bm25, ranker: neural}
        for name, run in runs.items():
            write_run(out / safe_name(name) / "run.trec", run)
        measured = evaluate(runs, collection.qrels, ["nDCG@10", "P@5"])
        print_json(measured) if json else show(measured)

        best, before = most_lifted(bm25, neural, collection.qrels)
        text = collection.texts([best.docno])[best.docno]
        explanation = explain(model, collection.queries[best.qid], text, caller=Caller(progress=progress_bar))
        if not json:
            show_explanation(explanation, best.docno, before)
        figure = explanation.draw(out / "why.svg")
        explanation.draw(out / "why.png")
        work.finish(ranker=repr(model))
    say(f"\nwrote {figure}, {out}/why.png and the two runs")
    suggest(
        command("eval", out / "bm25", out / safe_name(ranker), "--qrels", "demo", "--per-query"),
        "whyrank get trec-rag-2024 && whyrank rank --ranker bi-minilm-l6 --collection trec-rag-2024 -o runs/rag",
    )


def most_lifted(before: Run, after: Run, qrels: Qrels) -> tuple[Retrieved, int]:
    """The relevant document that came from furthest down to the first place, and the rank it had."""
    ranks = {(row.qid, row.docno): row.rank for rows in before.values() for row in rows}
    firsts = [rows[0] for rows in after.values()]
    relevant = [row for row in firsts if qrels.get(row.qid, {}).get(row.docno, 0) > 1] or firsts
    best = max(relevant, key=lambda row: ranks[row.qid, row.docno])
    return best, ranks[best.qid, best.docno]


def show_explanation(explanation: Explanation, docno: str, bm25_rank: int) -> None:
    """The document with its words coloured by their effect, and the reason in words, on stdout."""
    from rich.panel import Panel
    from rich.text import Text

    strongest = max(abs(effect) for _, effect in explanation.chunks()) or 1
    body = Text()
    for chunk, effect in explanation.chunks():
        share = abs(effect) / strongest
        colour = "green" if effect > 0 else "red"
        style = f"bold {colour}" if share > 0.4 else colour if share > 0.12 else ""
        body.append(chunk, style=style)
        body.append(" ")
    title = f"'{explanation.query}': {docno} is first, from BM25's rank {bm25_rank}. Why?"
    console().print(Panel(body, title=title, title_align="left", width=96))
    console().print(explanation.in_words())
