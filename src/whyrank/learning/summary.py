"""From finished jobs to the result: tables over all folds, and the runs of the test queries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from whyrank.collections.records import Retrieved, Run
from whyrank.learning.judgements import JudgementsUsed
from whyrank.learning.material import Candidates, Values
from whyrank.learning.plan import Plan
from whyrank.learning.results import FIRST_STAGE, FoldMean, TrainedModel, Training
from whyrank.learning.tables import Difference, Mean, compare
from whyrank.learning.trainer import Fitted, Trainer


def training_result(trainer: Trainer, fitted: Sequence[Fitted], first_stage: str) -> Training:
    """The result of all jobs of a plan; `first_stage` says where the candidates are from."""
    plan, material, first = trainer.plan, trainer.plan.material, first_stage_values(trainer.plan)
    models = tuple(_model(trainer, one) for one in fitted)
    numbers = range(1, len(plan.splits) + 1)
    means, by_fold, differences = tables(plan.model.name, models, first, plan.settings.measures, plan.seeds[0])
    return Training(
        model=plan.model.name,
        backbone=plan.backbone.name,
        collection=material.name,
        first_stage=first_stage,
        settings=plan.all_settings,
        seeds=plan.seeds,
        folds=plan.splits,
        judgements=JudgementsUsed.of(plan.judged, plan.splits),
        queries=len(material.queries),
        without_candidates=material.not_found,
        missing_documents=material.missing_documents,
        cut_queries=len(plan.cut_queries),
        repeated_queries=len(plan.repeated),
        pairs=tuple(len(plan.pairs(fold)) for fold in numbers),
        to_beat=tuple(trainer.to_beat(fold) for fold in numbers),
        means=means,
        by_fold=by_fold,
        differences=differences,
        models=models,
        first_stage_values=first,
        runs=tuple(run_of(fitted, seed, plan.model.name) for seed in plan.seeds),
    )


def tables(
    name: str, models: Sequence[TrainedModel], first: Values, measures: Sequence[str], seed: int = 0
) -> tuple[tuple[Mean, ...], tuple[FoldMean, ...], tuple[Difference, ...]]:
    """The means over all folds, those of each fold and seed, and the differences to the first stage."""
    rows = {FIRST_STAGE: [first], name: list(by_seed(models).values())}
    return (
        tuple(Mean.of(row, measure, rows[row], seed) for row in rows for measure in measures),
        tuple(_fold_mean(one, measure, seed) for one in models for measure in measures),
        compare("training", [(name, FIRST_STAGE)], rows, measures, seed),
    )


def first_stage_values(plan: Plan) -> Values:
    """The measures of the candidates of all test queries in the order they came in."""
    qids = [qid for split in plan.splits for qid in split.test]
    return Candidates.of(plan.material, qids).first_stage(plan.settings.measures)


def by_seed(models: Sequence[TrainedModel]) -> dict[int, Values]:
    """For each seed the test values of all folds together: each query was tested once."""
    return merged_folds((one.seed, one.test) for one in models)


def merged_folds(tested: Iterable[tuple[int, Values]]) -> dict[int, Values]:
    """The test values of each seed, its folds merged."""
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


def _fold_mean(one: TrainedModel, measure: str, seed: int) -> FoldMean:
    return FoldMean(one.fold, one.seed, one.chosen, measure, Mean.of("", measure, [one.test], seed).mean)


def _model(trainer: Trainer, one: Fitted) -> TrainedModel:
    folder, history = trainer.model_folder(one.job), one.history
    model = None if folder is None else f"models/{folder.name}"
    return TrainedModel(one.job.fold, one.job.seed, history.best, history.epochs, one.test, model)
