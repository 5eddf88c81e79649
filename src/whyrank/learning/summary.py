"""What train.json says: the tables, the curves, and all that decided them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from whyrank.collections.records import Retrieved, Run
from whyrank.learning.judgements import used_json
from whyrank.learning.material import Candidates, Values
from whyrank.learning.plan import Plan
from whyrank.learning.tables import differences, table_row
from whyrank.learning.trainer import Fitted, OnProgress, Trainer

#: The row of what is re-ranked.
FIRST_STAGE = "first stage"


def trained(training: Trainer, watch: OnProgress | None = None) -> tuple[dict[str, Any], list[Fitted]]:
    """Trains, and gives what train.json says of it, with the jobs' results."""
    plan = training.plan
    fitted = training.run(watch)
    material, first = plan.material, first_stage_values(plan)
    folds = range(1, len(plan.splits) + 1)
    return {
        "model": plan.model.name,
        "backbone": plan.backbone.name,
        "collection": material.name,
        "settings": plan.settings_json(),
        "seeds": list(plan.seeds),
        "folds": [{part: list(qids) for part, qids in split} for split in plan.splits],
        "judgements": used_json(plan.what, plan.splits),
        "queries": len(material.queries),
        "not_found": material.not_found,
        "lacking": material.lacking,
        "cut_queries": len(plan.cut_queries),
        "repeated_queries": len(plan.repeated),
        "pairs": [len(plan.pairs(fold)) for fold in folds],
        "to_beat": [training.to_beat(fold) for fold in folds],
        **summarise(plan.model.name, fitted, first, plan.settings.measures, plan.seeds[0]),
        "runs": [_run(training, one) for one in fitted],
        "first_stage_values": first,
    }, fitted


def first_stage_values(plan: Plan) -> Values:
    """The measures of the candidates of all test queries in the order they came in."""
    qids = [qid for split in plan.splits for qid in split.test]
    return Candidates.of(plan.material, qids).first_stage(plan.settings.measures)


def summarise(
    name: str, fitted: Sequence[Fitted], first: Values, measures: Sequence[str], seed: int = 0
) -> dict[str, Any]:
    """`table` (all folds together), `by_fold` (each fold and seed) and `differences`, for train.json."""
    seeds = list(by_seed(fitted).values())
    rows = {FIRST_STAGE: [first], name: seeds}
    return {
        "table": [table_row(row, measure, rows[row], seed) for row in rows for measure in measures],
        "by_fold": [
            {**one.job._asdict(), "chosen": one.history.best, **_without_name(measure, one.test, seed)}
            for one in fitted
            for measure in measures
        ],
        "differences": differences("training", [(name, FIRST_STAGE)], rows, measures, seed),
    }


def by_seed(fitted: Sequence[Fitted]) -> dict[int, Values]:
    """For each seed the test values of all folds together: each query was tested once."""
    return folds_together((one.job.seed, one.test) for one in fitted)


def folds_together(tested: Iterable[tuple[int, Values]]) -> dict[int, Values]:
    """The same of what the folds of each seed came to."""
    found: dict[int, Values] = {}
    for seed, test in tested:
        for measure, values in test.items():
            mine = found.setdefault(seed, {}).setdefault(measure, {})
            assert not mine.keys() & values.keys(), "a query is tested in one fold only"
            mine.update(values)
    return found


def run_of(fitted: Sequence[Fitted], seed: int, tag: str) -> Run:
    """The test queries of all folds, ranked by the models of one seed."""
    found: Run = {}
    for one in (one for one in fitted if one.job.seed == seed):
        for qid, scores in one.scores.items():
            best = sorted(scores.items(), key=lambda pair: -pair[1])
            found[qid] = [Retrieved(qid, docno, i, score, tag) for i, (docno, score) in enumerate(best, start=1)]
    return found


def _without_name(measure: str, values: Values, seed: int) -> dict[str, Any]:
    row = table_row("", measure, [values], seed)
    return {key: row[key] for key in ("measure", "mean", "low", "high", "queries")}


def _run(training: Trainer, one: Fitted) -> dict[str, Any]:
    folder = training.model_folder(one.job)
    return {
        **one.job._asdict(), "chosen": one.history.best, "history": one.history.to_json(), "test": one.test,
        "model": None if folder is None else f"models/{folder.name}",
    }  # fmt: skip
