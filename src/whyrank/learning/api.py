"""`train`: can I train a better ranker? From names to the result."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from whyrank.collections.catalogue import open_collection
from whyrank.collections.collection import Collection
from whyrank.collections.opening import first_stage_of, say_notes
from whyrank.collections.records import Run as Ranking
from whyrank.collections.records import fingerprint_of
from whyrank.core.caller import SILENT, Caller
from whyrank.core.errors import UserError, located
from whyrank.core.parameters import check_seed
from whyrank.core.results import plain
from whyrank.core.runs import Run
from whyrank.engines.engine import open_workers
from whyrank.learning.checkpoints import work_folders
from whyrank.learning.contents import lines_hash, vectors_hash, weights_hash
from whyrank.learning.judgements import JudgementsUsed, judged
from whyrank.learning.models.catalogue import model_class
from whyrank.learning.options import TrainOptions, settled
from whyrank.learning.plan import Plan, backbone_checkpoint, plan_training
from whyrank.learning.processes import open_processes
from whyrank.learning.progress import training_bar
from whyrank.learning.results import Training
from whyrank.learning.side_by_side import fit_side_by_side, tasks_of
from whyrank.learning.summary import training_result
from whyrank.learning.trainer import Trainer
from whyrank.learning.world import process_count, process_index
from whyrank.pages.numbers import counted
from whyrank.rankers.load import check_device


def train(
    model: str | None = None,
    backbone: str | None = None,
    collection: str | Collection | None = None,
    *,
    run: Ranking | Path | str | None = None,
    folds: int | None = None,
    seeds: int | None = None,
    test_queries: Path | str | None = None,
    train_qrels: str | None = None,
    depth: int | None = None,
    queries: int | None = None,
    keep_models: str | None = None,
    seed: int | None = None,
    config: Path | str | None = None,
    workers: int | None = None,
    device: str = "cpu",
    out: Path | str | None = None,
    caller: Caller = SILENT,
    **settings: Any,
) -> Training:
    """Trains DGRe or a baseline fold by fold, each tested on queries that it has not seen.

    `model` is dgre, lgre, bert, bert-maxp, cedr-knrm, parade, drmm or conv-knrm; `backbone` a BERT-family
    checkpoint; `run` a first stage other than BM25, of which `depth` candidates per query are taken (100). `folds`
    is 5 (1: one split of 60% to learn from, 20% and 20%), `seeds` the trainings per fold (3). `test_queries` names
    a file of ids to test on, `train_qrels` other judgements to learn from; then the collection's own are the test.
    `queries` takes only the first N. `workers` trains N folds and seeds at a time. `settings` are the
    model's and the training's by name (`epochs=3`). A TOML file (`config`) has the same names; arguments win.

    With `out` the result is also written as a run folder, with all models, the first or none (`keep_models`), and
    a training that was killed continues after its last epoch, to the same weights. Without it no model is kept.
    """
    check_seed(seed)
    check_device(device)
    given = {
        "model": model, "backbone": backbone, "collection": collection, "run": run, "folds": folds, "seeds": seeds,
        "test_queries": test_queries, "train_qrels": train_qrels, "depth": depth, "queries": queries,
        "keep_models": keep_models, "seed": seed,
    }  # fmt: skip
    options = TrainOptions.of(given, settings, None if config is None else Path(config))
    caller.say(f"training {options.model} on {options.backbone} with {options.collection_name}")
    if workers is not None:
        if process_count() > 1:
            raise UserError(
                "workers and several processes", todo="give one: several trainings at a time, or one shared"
            )
        open_workers(workers)  # what they need is asked for before anything is opened
    planned = _planned(options)
    say_notes(planned.plan.judged.collection, caller)
    with Run.open(out, Training.COMMAND, _inputs(options, planned), caller, hold=process_index() == 0) as place:
        return place.finished(Training) or _trained(place, planned, options, workers, device)


class Planned(NamedTuple):
    """A plan, its candidates, and where they are from."""

    plan: Plan
    first: Ranking
    origin: str


def _planned(options: TrainOptions) -> Planned:
    """Wrong settings are refused before anything is opened."""
    files = options.files
    settled(model_class(options.model), options.settings, options.names)
    with located(files.get("backbone"), options.backbone):
        backbone_checkpoint(options.backbone)
    with located(files.get("collection"), options.collection_name):
        named = options.collection
        opened = open_collection(named) if isinstance(named, str) else named
    tests = Path(options.test_queries) if options.test_queries else None
    known = judged(opened, options.train_qrels, tests, options.queries)
    first, origin = first_stage_of(known.collection, options.run, options.depth)
    with located(next(iter(files.values()), None)):
        plan = plan_training(
            options.model, options.backbone, known, first, options.settings, folds=options.folds,
            seeds=range(options.seed, options.seed + options.seeds), k=options.depth, queries=options.queries,
            names=options.names,
        )  # fmt: skip
    return Planned(plan, first, origin)


def _inputs(options: TrainOptions, planned: Planned) -> dict[str, Any]:
    """Everything that the result depends on, by content."""
    plan = planned.plan
    known, vectors = plan.judged, getattr(plan.network, "vectors", None)
    return {
        "model": options.model, "backbone": weights_hash(plan.backbone),
        "collection": known.collection.fingerprint(), "first_stage": fingerprint_of(planned.first),
        "settings": plain(plan.all_settings), "seeds": options.seeds, "seed": options.seed,
        "folds": len(plan.splits), "test_queries": known.test and lines_hash(known.test),
        "validation_queries": known.validation and lines_hash(known.validation), "depth": options.depth,
        "queries": options.queries, "keep_models": options.keep_models,
        "vectors": vectors_hash(Path(vectors)) if vectors else None, "processes": process_count(),
    }  # fmt: skip


def _trained(place: Run, planned: Planned, options: TrainOptions, workers: int | None, device: str) -> Training:
    """Trains what is not trained yet; the first process writes the results."""
    processes, plan, origin = open_processes(device), planned.plan, planned.origin
    with work_folders(place) as (folder, work):
        about = {"candidates": f"{origin}, {options.depth} per query", "judgements": plan.judged.source("train")}
        keep = "none" if place.path is None else options.keep_models
        trainer = Trainer(plan, folder, work, processes=processes, keep=keep, about=about)
        say_plan(trainer, place.caller)
        if processes.index == 0:
            place.begin()
            place.keep_work()
        result = _fitted(trainer, place.caller, workers, origin)
        processes.from_first(lambda: _save(place, result, options, workers))
    return result


def _fitted(trainer: Trainer, caller: Caller, workers: int | None, origin: str) -> Training:
    tasks, settings = tasks_of(trainer.plan.model.name, trainer), trainer.plan.settings
    if not tasks:  # workers, or a process that was killed at its very end, have done all of it
        return training_result(trainer, trainer.run(), origin)
    with training_bar(caller, trainer.steps, settings.epochs, settings.select) as on_progress:
        if workers:
            caller.say(f"{counted(len(tasks), 'training')}, {min(workers, len(tasks))} at a time, one thread each")
            for _, lost in fit_side_by_side(workers, lambda name: trainer, tasks, on_progress):
                if lost:
                    raise lost
        return training_result(trainer, trainer.run(on_progress), origin)


def _save(place: Run, result: Training, options: TrainOptions, workers: int | None) -> None:
    place.save(
        result, jobs=len(result.models), pairs_per_epoch=list(result.pairs), judgements=plain(result.judgements),
        first_stage=result.first_stage, asked=options.facts(), workers=workers,
    )  # fmt: skip


def say_plan(trainer: Trainer, caller: Caller) -> None:
    """What is about to be done, and what cannot be."""
    plan, material = trainer.plan, trainer.plan.material
    for line in JudgementsUsed.of(plan.judged, plan.splits).lines():
        caller.say(line)
    for number, split in enumerate(plan.splits, start=1):
        parts = ", ".join(f"{len(qids)} {part}" for part, qids in split)
        caller.say(f"fold {number}: {parts} queries; {len(plan.pairs(number))} pairs per epoch")
    values = ", ".join(f"{trainer.to_beat(fold):.4f}" for fold in range(1, len(plan.splits) + 1))
    caller.say(f"to beat on the validation queries, the first stage: {plan.settings.select} {values}")
    if material.not_found:
        caller.say(f"{material.not_found} judged queries have no candidates and are measured as 0")
    if material.missing_documents:
        caller.say(
            f"{material.missing_documents} relevant documents are not in the collection and cannot be learned from"
        )
    if plan.repeated:
        caller.say(
            f"{counted(len(plan.repeated), 'query', 'queries')} in the same words as another: dropped from what "
            "is learned from or chosen by where the other is tested"
        )
    if plan.cut_queries:
        caller.say(
            f"{len(plan.cut_queries)} queries are longer than half a sequence and are cut: a larger max_length "
            "reads all of them"
        )
    epochs = plan.settings.epochs
    caller.say(f"{counted(len(plan.jobs), 'training')} of at most {epochs} epochs, {trainer.steps} steps in all")
