"""`whyrank eval`: runs measured and compared."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from whyrank.cli import calibration, options
from whyrank.cli.caller import terminal
from whyrank.cli.commands import app
from whyrank.cli.console import command, console, print_json, say, suggest

if TYPE_CHECKING:
    from whyrank.evaluation.results import Evaluation


@app.command("eval")
def evaluate_runs(
    runs: Annotated[list[Path], typer.Argument(help="TREC runs, or run folders; the first is the baseline.")],
    qrels: Annotated[str, typer.Option(help="A qrels file, or a collection that has judgements.")],
    measure: Annotated[
        list[str] | None, typer.Option("-m", "--measure", help="nDCG@10, P@20, AP, ... again for more.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="Write evaluation.json and per_query.parquet here.")
    ] = None,
    per_query: Annotated[bool, typer.Option(help="Print every query's values too.")] = False,
    calibrate: Annotated[bool, typer.Option("--calibrate", help="Say what the scores of one run mean.")] = False,
    want_precision: calibration.WantPrecision = None,
    min_grade: calibration.MinGrade = None,
    assume_not_relevant: calibration.AssumeNotRelevant = False,
    json: options.AsJson = False,
    seed: options.Seed = 0,
) -> None:
    """Measure runs and compare each with the first (paired t-test and randomisation test, Holm-corrected).

    With --calibrate: what a score means, as a probability and a grade, and where to cut for a wanted precision.
    """
    asked = calibration.Asked(want_precision, min_grade, assume_not_relevant)
    if calibrate:
        return calibration.calibrate_one(runs, qrels, asked, measure, per_query, seed, out, json)
    asked.check_not_given()
    say(f"evaluating {len(runs)} run{'s' * (len(runs) > 1)} against {qrels}")
    from whyrank.evaluation.evaluate import MEASURES, evaluate

    result = evaluate(runs, qrels, measure or MEASURES, seed=seed, out=out, caller=terminal())
    print_json(result) if json else show(result, per_query)
    if out is None:
        suggest(command("eval", *runs, "--qrels", qrels, "-o", "runs/evaluation"))


def show(result: Evaluation, per_query: bool = False) -> None:
    """The tables, on stdout."""
    from rich.table import Table

    measures = list(result.runs[0].means)
    table = Table(title=f"{result.queries} judged queries", title_justify="left")
    table.add_column("run")
    for measure in measures:
        table.add_column(measure, justify="right")
    for run in result.runs:
        table.add_row(run.name, *(f"{run.means[measure].value:.4f}" for measure in measures))
    console().print(table)
    if result.comparisons:
        _show_comparisons(result)
    if per_query:
        wide = result.to_pandas().pivot_table(
            index=["qid"], columns=["measure", "run"], values="value", sort=False
        )
        print(wide.to_string(float_format="%.4f"))
    for run in result.runs:
        if run.unjudged:
            say(f"{run.name}: dropped {run.unjudged} queries without a judgement")


def _show_comparisons(result: Evaluation) -> None:
    from rich.table import Table

    from whyrank.evaluation.estimate import p_text

    table = Table(title=f"against {result.comparisons[0].baseline}, p Holm-corrected", title_justify="left")
    for column in ("run", "measure", "difference", "p (t-test)", "p (randomisation)"):
        table.add_column(column, justify="left" if column in ("run", "measure") else "right")
    for row in result.comparisons:
        p_values = (row.t_test.p_holm, row.randomisation_p_holm)
        table.add_row(
            row.run,
            row.measure,
            row.t_test.difference.text("+.4f"),
            *(p_text(p, result.queries) for p in p_values),
        )
    console().print(table)
