"""`evaluate`: several runs measured on the same judgements and compared with the first of them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from whyrank.collections import Qrels
from whyrank.collections.collection import Collection
from whyrank.collections.opening import qrels_of, run_of
from whyrank.collections.splits import counts
from whyrank.core.caller import SILENT, Caller
from whyrank.core.errors import UserError
from whyrank.core.parameters import check_seed
from whyrank.core.runs import Run
from whyrank.evaluation.estimate import Comparison, Estimate, finite, p_over_queries
from whyrank.evaluation.measures import AnyRun, parse_measures, per_query, scores_by_query, unjudged
from whyrank.evaluation.results import Evaluation, MeasuredRun, Row, RunComparison
from whyrank.evaluation.significance import holm, randomisation_test

#: What is measured unless something else is asked for.
MEASURES = ("nDCG@10", "AP", "RR@10")
#: Values by run and measure, in the order of the judged queries.
Columns = Mapping[str, Mapping[str, Sequence[float]]]


def evaluate(
    runs: Mapping[str, AnyRun] | Sequence[Path | str] | Path | str,
    qrels: Qrels | Collection | Path | str,
    measure: str | Sequence[str] = MEASURES,
    *,
    seed: int = 0,
    out: Path | str | None = None,
    caller: Caller = SILENT,
) -> Evaluation:
    """Measures each run and compares each with the first, the baseline.

    `runs` are TREC files or run folders, or runs by name; `qrels` is a file, or a collection that has judgements.
    All runs are measured on all judged queries (see `measures` for what counts as 0), so every comparison is
    over the same pairs. Holm's correction takes in all runs and measures of the table, for each test apart.
    """
    check_seed(seed)
    named = _named(runs)
    measures = [measure] if isinstance(measure, str) else list(measure)
    if not named or not measures:
        raise UserError("nothing to evaluate", todo="give at least one run and one measure")
    parse_measures(measures)
    judged, source = qrels_of(qrels)
    caller.say(f"judgements: {source}, {counts(judged, judged)}")
    for name, run in named.items():
        missing = len(judged.keys() - run.keys())
        if missing:
            caller.say(f"{name} lacks {missing} of the {len(judged)} judged queries; they count as 0")
    inputs = {
        "runs": {name: content_of(scores_by_query(run)) for name, run in named.items()},
        "qrels": content_of(judged),
        "measures": measures,
        "seed": seed,
    }
    with Run.open(out, Evaluation.COMMAND, inputs, caller) as opened:
        result = opened.finished(Evaluation)
        if result is None:
            result = _evaluated(named, judged, measures, seed)
            grades = sum(map(len, judged.values()))
            opened.save(result, judgements={"source": source, "queries": len(judged), "judgements": grades})
        return result


def _named(runs: Mapping[str, AnyRun] | Sequence[Path | str] | Path | str) -> dict[str, AnyRun]:
    """The runs by name: a path's last part, or the whole of it where that would name two runs."""
    if isinstance(runs, Mapping):
        return dict(runs)
    paths = [Path(run) for run in ([runs] if isinstance(runs, Path | str) else runs)]
    if len(set(paths)) < len(paths):
        raise UserError("the same run is given twice", todo="name each run once; the first is the baseline")
    last = [path.name for path in paths]
    return {path.name if last.count(path.name) == 1 else str(path): run_of(path) for path in paths}


def content_of(value: Mapping[str, Mapping[str, float]]) -> str:
    """A hash of scores or grades by query and document, for the inputs of a run."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def _evaluated(runs: Mapping[str, AnyRun], qrels: Qrels, measures: Sequence[str], seed: int) -> Evaluation:
    values = {name: per_query(run, qrels, measures) for name, run in runs.items()}
    columns: dict[str, dict[str, list[float]]] = {name: {} for name in values}
    for name, found in values.items():
        for _, one, value in found:
            columns[name].setdefault(one, []).append(value)
    qids = list(qrels)
    return Evaluation(
        runs=tuple(
            MeasuredRun(
                name,
                {one: Estimate.mean(column, qids, seed) for one, column in columns[name].items()},
                missing=len(qrels.keys() - run.keys()),
                unjudged=len(unjudged(run, qrels)),
            )
            for name, run in runs.items()
        ),
        comparisons=tuple(_comparisons(columns, seed)),
        queries=len(qrels),
        seed=seed,
        rows=tuple(Row(name, *value) for name, found in values.items() for value in found),
    )


def _comparisons(columns: Columns, seed: int) -> list[RunComparison]:
    baseline, *others = columns
    keys = [(run, measure) for run in others for measure in columns[run]]
    gaps = [
        [x - y for x, y in zip(columns[run][measure], columns[baseline][measure], strict=True)]
        for run, measure in keys
    ]
    drawn = [p_over_queries(one, randomisation_test, seed=seed) for one in gaps]
    return [
        RunComparison(run, baseline, measure, t_test, finite(p), finite(corrected))
        for (run, measure), t_test, p, corrected in zip(
            keys, Comparison.family(gaps, seed=seed), drawn, holm(drawn), strict=True
        )
    ]
