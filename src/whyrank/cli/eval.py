"""`whyrank eval`: runs measured and compared."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from whyrank.cli.caller import asked
from whyrank.cli.console import command, console, say, suggest
from whyrank.core.errors import UserError

if TYPE_CHECKING:
    from whyrank.collections.records import Qrels
    from whyrank.evaluation.evaluate import Evaluation


def evaluate_runs(
    runs: Annotated[list[Path], typer.Argument(help="TREC runs, or run folders; the first is the baseline.")],
    qrels: Annotated[str, typer.Option(help="A qrels file, or a collection that has judgements.")],
    measures: Annotated[
        list[str] | None, typer.Option("-m", "--measure", help="nDCG@10, P@20, AP, ... again for more.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="Write evaluation.json and per_query.parquet here.")
    ] = None,
    per_query: Annotated[bool, typer.Option(help="Print every query's values too.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed of the randomisation test.")] = 0,
) -> None:
    """Measure runs and compare each with the first (paired t-test and randomisation test, Holm-corrected)."""
    say(f"evaluating {len(runs)} run{'s' * (len(runs) > 1)} against {qrels}")
    from whyrank.collections.given import run_of
    from whyrank.collections.records import fingerprint_of
    from whyrank.collections.splits import counts
    from whyrank.core.runs import RunFolder
    from whyrank.evaluation.evaluate import MEASURES, evaluate

    if len(set(runs)) < len(runs):
        raise UserError("the same run is given twice", todo="name each run once; the first is the baseline")
    named = {_name(path, runs): run_of(path) for path in runs}
    judged, source = judgements(qrels)
    say(f"judgements: {source}, {counts(judged, judged)}")
    folder = None
    if out:
        content = hashlib.sha256(json.dumps(judged, sort_keys=True).encode()).hexdigest()
        inputs = {"runs": {name: fingerprint_of(run) for name, run in named.items()}, "qrels": content}
        folder = RunFolder.claim(
            out, "eval", {**inputs, "measures": list(measures or MEASURES), "seed": seed}, asked=asked()
        )
    result = evaluate(named, judged, measures or MEASURES, seed=seed)
    for name, run in named.items():
        absent = len(judged.keys() - run.keys())
        if absent:
            say(f"{name} lacks {absent} of the {len(judged)} judged queries; they count as 0")
    if as_json:
        print(json.dumps(result.to_json(), indent=2))
    else:
        show(result, per_query)
    if folder:
        folder.begin()
        for path in result.write(folder.path):
            say(f"wrote {path}")
        grades = sum(map(len, judged.values()))
        folder.finish(judgements={"source": source, "queries": len(judged), "judgements": grades})
    else:
        suggest(command("eval", *runs, "--qrels", qrels, "-o", "runs/evaluation"))


def judgements(qrels: str) -> tuple[Qrels, str]:
    """The judgements of a qrels file or of a collection (of its split test, where it has one), and the file."""
    from whyrank.collections.catalogue import open_collection
    from whyrank.collections.formats import read_qrels

    if Path(qrels).exists() and not Path(qrels).is_dir() and not _holds_json(Path(qrels)):
        return read_qrels(qrels), qrels
    collection = open_collection(qrels)
    if not collection.qrels:
        raise UserError("this collection has no judgements", where=qrels, todo="give a qrels file")
    return collection.qrels, f"{collection.judged_by} of {qrels}" if collection.splits else qrels


def _holds_json(path: Path) -> bool:
    """A file of JSON lines is a collection (Tevatron's form), not judgements."""
    from whyrank.collections.formats import first_line

    return path.is_file() and first_line(path).text.lstrip().startswith("{")


def show(result: Evaluation, per_query: bool = False) -> None:
    """The tables, on stdout."""
    from rich.table import Table

    measures = list(next(iter(result.means.values())))
    table = Table(title=f"{result.queries} judged queries", title_justify="left")
    table.add_column("run")
    for measure in measures:
        table.add_column(measure, justify="right")
    for run, means in result.means.items():
        table.add_row(run, *(f"{means[measure]:.4f}" for measure in measures))
    console().print(table)
    if result.comparisons:
        _show_comparisons(result)
    if per_query:
        wide = result.to_pandas().pivot_table(
            index=["qid"], columns=["measure", "run"], values="value", sort=False
        )
        print(wide.to_string(float_format="%.4f"))
    for run, count in result.unjudged.items():
        if count:
            say(f"{run}: {count} queries have no judgement and were left out")


def _show_comparisons(result: Evaluation) -> None:
    from rich.table import Table

    from whyrank.evaluation.estimate import p_text

    table = Table(title=f"against {result.comparisons[0].baseline}, p Holm-corrected", title_justify="left")
    for column in ("run", "measure", "difference", "p (t-test)", "p (randomisation)"):
        table.add_column(column, justify="left" if column in ("run", "measure") else "right")
    for row in result.comparisons:
        table.add_row(
            row.run,
            row.measure,
            f"{row.difference:+.4f}",
            *(p_text(p, result.queries) for p in (row.t_p_holm, row.randomisation_p_holm)),
        )
    console().print(table)


def _name(path: Path, all_paths: list[Path]) -> str:
    """The last part of the path, or the whole of it where that would name two runs."""
    return path.name if sum(other.name == path.name for other in all_paths) == 1 else str(path)
