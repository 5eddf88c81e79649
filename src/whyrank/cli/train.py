"""`whyrank train`: can I train a better one?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from whyrank.cli import options
from whyrank.cli.caller import asked as command_line
from whyrank.cli.console import command, say, suggest
from whyrank.cli.several_processes import run_in_processes
from whyrank.cli.train_console import only_the_first_speaks, show, tell_plan, train_beside, watching
from whyrank.collections.given import first_stage_of
from whyrank.collections.records import fingerprint_of
from whyrank.core.errors import UserError, located
from whyrank.engines.engine import open_workers
from whyrank.learning.world import process_count, process_index

if TYPE_CHECKING:
    from whyrank.core.runs import RunFolder
    from whyrank.learning.processes import Processes
    from whyrank.learning.trainer import Trainer

RESULT = "train.json"
#: What a flag is without a flag and without a file.
DEFAULTS = {"seeds": 3, "seed": 0, "k": 100, "keep": "all"}
#: What counts something.
COUNTED = ("folds", "seeds", "k", "queries")
#: What there must be.
NEEDED = ("model", "backbone", "collection")


def train(
    out: options.RunFolderPath,
    model: Annotated[
        str | None,
        typer.Option(help="dgre, lgre, bert, bert-maxp, cedr-knrm, parade, drmm or conv-knrm."),
    ] = None,
    backbone: Annotated[
        str | None, typer.Option(help="A BERT-family checkpoint: a folder, a hub id or a short name.")
    ] = None,
    collection: Annotated[
        str | None, typer.Option("--collection", help="A folder, a built-in name or an ir_datasets id.")
    ] = None,
    run: Annotated[str | None, typer.Option(help="Your first stage, a TREC run; default: BM25.")] = None,
    folds: Annotated[
        int | None, typer.Option(min=1, help="Default 5; 1 is one split, 60% to learn from, 20% and 20%.")
    ] = None,
    seeds: Annotated[int | None, typer.Option(min=1, help="Trainings a fold; default 3.")] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="A setting of the model or the training: key=value.")
    ] = None,
    config: Annotated[Path | None, typer.Option(help="A TOML file with the same names; flags win.")] = None,
    test_queries: Annotated[
        str | None, typer.Option(help="Ids of the queries to test on, one a line; the others are learned from.")
    ] = None,
    train_qrels: Annotated[
        str | None,
        typer.Option(
            help="Judgements to learn from, a file or a collection (trec-rag-2024/umbrela); the collection's own "
            "are then the test."
        ),
    ] = None,
    k: Annotated[
        int | None, typer.Option("-k", min=1, help="Candidates a query of the first stage; default 100.")
    ] = None,
    queries: Annotated[
        int | None, typer.Option("-n", "--queries", min=1, help="Only the first n judged queries.")
    ] = None,
    processes: Annotated[
        int, typer.Option(min=1, help="Share each batch among so many processes (or GPUs) of this machine.")
    ] = 1,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Train so many folds and seeds at a time, one thread each.")
    ] = None,
    keep: Annotated[str | None, typer.Option(help="Models to keep: all, first or none; default all.")] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", min=0, max=2**32 - 1, help="Of the folds, the first training and more.")
    ] = None,
) -> None:
    """Train DGRe or a baseline on your collection, fold by fold, and test it on queries it has not seen."""
    if workers is not None and (processes > 1 or process_count() > 1):
        raise UserError("--workers and --processes", todo="give one: several trainings at a time, or one shared")
    if processes > 1 and process_count() == 1:
        raise typer.Exit(run_in_processes(processes))
    flags = {
        "model": model, "backbone": backbone, "collection": collection, "run": run, "folds": folds, "seeds": seeds,
        "test_queries": test_queries, "train_qrels": train_qrels, "k": k, "queries": queries, "keep": keep,
        "seed": seed,
    }  # fmt: skip
    with only_the_first_speaks():
        asked, told, by_file = _asked(flags, config, set_ or [])
        say(f"training {asked['model']} on {asked['backbone']} with {asked['collection']}")
        if workers is not None:
            open_workers(workers)  # what they need is asked for before anything is opened
        _train(asked, told, by_file, out, workers)


def _asked(
    flags: dict[str, Any], config: Path | None, assignments: list[str]
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Path]]:
    """What the flags say, else the file, else the defaults; the settings by name; the file's names."""
    from whyrank.learning.models.catalogue import model_class
    from whyrank.learning.options import read_assignments, read_toml, settled
    from whyrank.learning.settings_values import typed

    file = read_toml(config) if config else {}
    for name in ("workers", "processes"):
        if name in file:
            raise UserError(f"{name} in a file", where=config, todo=f"give --{name}")
    kinds = {"folds": int, "seeds": int, "k": int, "queries": int, "seed": int}
    own = {name: typed(name, file.pop(name), kinds.get(name, str), config) for name in flags if name in file}
    given = {name: value for name, value in flags.items() if value is not None}
    asked = {**dict.fromkeys(flags), **DEFAULTS, **own, **given}
    for name in NEEDED:
        if asked[name] is None or not str(asked[name]).strip():
            todo = f"give --{name}, or {name} = ... in a file (--config)"
            raise UserError(f"no {name} is given", where=config, todo=todo)
    for name, least in (*((name, 1) for name in COUNTED), ("seed", 0)):
        if asked[name] is not None and asked[name] < least:
            where = config if name in own else None
            raise UserError(f"{name} is {asked[name]}", where=where, todo=f"give {least} or more")
    by_file = {name: config for name in (*own, *file) if config and name not in given}
    with located(by_file.get("model")):
        settled(model_class(asked["model"]), file, asked, config)
    return asked, {**file, **read_assignments(assignments)}, by_file


def _train(
    asked: dict[str, Any], told: dict[str, Any], by_file: dict[str, Path], out: Path, workers: int | None
) -> None:
    from whyrank.collections.catalogue import open_collection
    from whyrank.core.runs import RunFolder
    from whyrank.learning.contents import lines_hash, vectors_hash, weights_hash
    from whyrank.learning.judgements import judged
    from whyrank.learning.models.catalogue import model_class
    from whyrank.learning.options import settled
    from whyrank.learning.plan import backbone_checkpoint, plan_training
    from whyrank.learning.processes import open_processes
    from whyrank.learning.trainer import Trainer

    settled(model_class(asked["model"]), told, asked)  # what is told wrong is refused before anything is opened
    with located(by_file.get("backbone"), asked["backbone"]):
        backbone_checkpoint(asked["backbone"])
    tests = asked["test_queries"]
    with located(by_file.get("collection"), asked["collection"]):
        opened = open_collection(asked["collection"])
    what = judged(opened, asked["train_qrels"], Path(tests) if tests else None, asked["queries"])
    first, origin = first_stage_of(what.collection, Path(asked["run"]) if asked["run"] else None, asked["k"])
    with located(next(iter(by_file.values()), None)):
        plan = plan_training(
            asked["model"], asked["backbone"], what, first, told, folds=asked["folds"],
            seeds=range(asked["seed"], asked["seed"] + asked["seeds"]), k=asked["k"], queries=asked["queries"],
            names=asked,
        )  # fmt: skip
    vectors = getattr(plan.network, "vectors", None)
    inputs = {
        "model": asked["model"], "backbone": weights_hash(plan.backbone),
        "collection": what.collection.fingerprint(), "first_stage": fingerprint_of(first),
        "settings": plan.settings_json(), "seeds": asked["seeds"], "seed": asked["seed"],
        "folds": len(plan.splits), "test_queries": what.test and lines_hash(what.test),
        "validation_queries": what.validation and lines_hash(what.validation), "k": asked["k"],
        "queries": asked["queries"], "keep": asked["keep"],
        "vectors": vectors_hash(Path(vectors)) if vectors else None, "processes": process_count(),
    }  # fmt: skip
    folder = RunFolder.claim(out, "train", inputs, hold=process_index() == 0, asked=command_line())
    processes = open_processes()
    work, about = folder.work("training"), {"candidates": f"{origin}, {asked['k']} a query"}
    about["judgements"] = what.source("train")
    training = Trainer(plan, out, work, processes=processes, keep=asked["keep"], about=about)
    result = folder.result(RESULT)
    if result is not None:
        say(f"{out} holds the result already")
    else:
        facts = {"first_stage": origin, "asked": {**asked, "settings": told}, "workers": workers}
        result = _run(training, folder, processes, facts)
    show(result)
    suggest(f"open {out / 'report.html'} in a browser", *_next(result, asked, out, set(opened.qrels)))


def _run(training: Trainer, folder: RunFolder, processes: Processes, about: dict[str, Any]) -> dict[str, Any]:
    """Trains all there is to train; the first process writes the results. `about` goes into the manifest."""
    from whyrank.learning.side_by_side import tasks_of
    from whyrank.learning.summary import trained

    tell_plan(training)
    if processes.index == 0:
        folder.begin()
    plan = training.plan
    if about["workers"] and (tasks := tasks_of(plan.model.name, training)):
        for _, lost in train_beside(about["workers"], lambda name: training, tasks, plan.settings):
            if lost:
                raise lost
    with watching(training) as watch:
        found, fitted = trained(training, watch)
    result = {**found, "first_stage": about["first_stage"]}
    processes.from_first(lambda: _write(training, folder, result, fitted, about))
    return result


def _write(
    training: Trainer, folder: RunFolder, result: dict[str, Any], fitted: Any, about: dict[str, Any]
) -> None:
    from whyrank.collections.trec import write_run
    from whyrank.learning.report import write_train
    from whyrank.learning.summary import run_of

    facts = {"jobs": len(result["runs"]), "pairs_an_epoch": result["pairs"], "judgements": result["judgements"]}
    manifest = folder.record(**facts, **about)
    for seed in result["seeds"]:
        write_run(folder.path / "runs" / f"seed{seed}.trec", run_of(fitted, seed, result["model"]))
    paths = write_train(result, folder.path, manifest)
    folder.save(manifest)
    training.forget()
    kept = sum(run["model"] is not None for run in result["runs"])
    names = ", ".join(path.name for path in paths)
    say(f"wrote {names}, {len(result['seeds'])} runs and {kept} models to {folder.path}")


def _next(result: dict[str, Any], asked: dict[str, Any], out: Path, judged: set[str]) -> list[str]:
    """Measure the runs again, where all judged queries were tested, and open the model that validation likes best:
    the test is for telling, not for choosing."""
    kept = [run for run in result["runs"] if run["model"]]
    tested = {qid for fold in result["folds"] for qid in fold["test"]}
    runs = [out / "runs" / f"seed{seed}.trec" for seed in result["seeds"]]
    first = [command("eval", *runs, "--qrels", asked["collection"])] * (tested == judged)
    if not kept:
        return first
    best = max(kept, key=lambda run: run["history"][run["chosen"]]["validation"])
    opened = command("audit", "--ranker", out / best["model"], "--collection", asked["collection"], "-o", "RUN")
    return [*first, opened]
