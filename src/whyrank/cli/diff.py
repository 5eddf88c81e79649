"""`whyrank diff`: what changed between two rankings?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from whyrank.cli import gate, options
from whyrank.cli.caller import terminal
from whyrank.cli.commands import app
from whyrank.cli.console import console, print_json, say, suggest

if TYPE_CHECKING:
    from whyrank.evaluation.estimate import Estimate
    from whyrank.explain.diff import RunDiff


@app.command("diff")
def diff(
    before: Annotated[Path, typer.Argument(help="The ranking before: a TREC run or a run folder.")],
    after: Annotated[Path, typer.Argument(help="The ranking after.")],
    collection: Annotated[str | None, options.COLLECTION] = None,
    qrels: Annotated[str | None, typer.Option(help="Judgements: a file or a collection.")] = None,
    rankers: Annotated[
        list[str], typer.Option("--ranker", help="Give it twice, before and after: the words behind the moves.")
    ] = [],  # noqa: B006
    measure: Annotated[str, typer.Option("-m", "--measure", help="The measure of gains and losses.")] = "nDCG@10",
    depth: Annotated[int, typer.Option(min=1, help="Compare the first N of each query.")] = 10,
    queries: Annotated[int, typer.Option(min=1, help="Queries to show, those that changed most.")] = 10,
    documents: Annotated[int, typer.Option(min=1, help="Documents of each, those that moved most.")] = 3,
    budget: Annotated[int, typer.Option(min=20, help="Texts to score for a document's words, at most.")] = 150,
    seed: options.Seed = 0,
    fail_if: gate.FailIf = [],  # noqa: B006
    junit: gate.JUnit = None,
    out: Annotated[Path | None, typer.Option("-o", "--out", help="A run folder to write.")] = None,
    device: options.Device = "cpu",
    json: options.AsJson = False,
) -> None:
    """Say what moved between two rankings, what it gained or lost, and the words behind the largest moves."""
    say(f"comparing {before} with {after}")
    conditions = gate.conditions_of(fail_if, junit)
    from whyrank.explain.diff import diff as run_diff

    result = run_diff(
        before, after, collection=collection, qrels=qrels, rankers=rankers, measure=measure, depth=depth,
        queries=queries, documents=documents, budget=budget, seed=seed, device=device, out=out, caller=terminal(),
    )  # fmt: skip
    print_json(result) if json else show(result)
    if out is not None:
        suggest(f"open {out / 'report.html'} in a browser")
    gate.close(conditions, measured(result), junit, "whyrank diff")


def measured(found: RunDiff) -> dict[str, dict[str, Estimate]]:
    """The numbers that `--fail-if` may name: the measure's change, and the overlap."""
    numbers = {"overlap": {"mean overlap": found.overlap}}
    if found.comparison is not None and found.measure is not None:
        numbers[found.measure] = {f"change of {found.measure}": found.comparison.difference}
    return numbers


def show(found: RunDiff) -> None:
    """The verdict, and one row per moved document."""
    from rich.table import Table

    from whyrank.explain.diff import rank_text

    screen = console()
    for sentence in found.verdict():
        screen.print(sentence)
    if not found.rows:
        return
    table = Table("query", "document", "before", "after", "grade", "words (share of the largest effect)")
    for row in found.rows:
        for number, move in enumerate(row.moves):
            words = ", ".join(f"{one.word} {_share(one.before)} to {_share(one.after)}" for one in move.words[:3])
            grade = "" if move.grade is None else str(move.grade)
            ranks = (rank_text(move.before), rank_text(move.after))
            table.add_row("" if number else row.query, move.docid, *ranks, grade, words)
    screen.print(table)


def _share(value: float | None) -> str:
    from whyrank.evaluation.estimate import percent

    return percent(value)
