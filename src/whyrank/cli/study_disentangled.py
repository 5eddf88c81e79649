"""`whyrank study disentangled`: DGRe and its baselines, trained, compared, ablated and opened."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from whyrank.cli import options
from whyrank.cli.caller import asked, terminal
from whyrank.cli.console import command, progress_bar, say, suggest
from whyrank.core.errors import UserError
from whyrank.engines.engine import open_workers

if TYPE_CHECKING:
    from whyrank.core.progress import Progress
    from whyrank.learning.progress import OnProgress
    from whyrank.learning.side_by_side import Task
    from whyrank.learning.trainer import Trainer
    from whyrank.papers.disentangled.sizes import Sizes
    from whyrank.papers.disentangled.study import DisentangledStudy
    from whyrank.papers.disentangled.trainings import Ground, Trainings
    from whyrank.papers.disentangled.variants import Variant

#: Collections whose own judgements are a test, and what to learn from.
TRAIN_QRELS = {"trec-rag-2024": "trec-rag-2024/umbrela"}
#: What stages hold, as the report reads it: another name for another content, and older folders do them again.
STAGES = "2"
BACKBONE, QUICK_BACKBONE = "bi-minilm-l6", "bi-minilm-l3"
QUICK_MODELS = "bm25,drmm,bert,lgre,dgre"


def disentangled(
    out: options.RunFolderPath,
    collection: options.CollectionName = "trec-rag-2024",
    run: Annotated[Path | None, typer.Option(help="Your first stage, a TREC run; default: BM25.")] = None,
    backbone: Annotated[
        str | None, typer.Option(help=f"What all transformers start from; default {BACKBONE}.")
    ] = None,
    folds: Annotated[
        int | None, typer.Option(min=1, help="Default 5, or the one split of a fixed test (trec-rag-2024).")
    ] = None,
    seeds: Annotated[int | None, typer.Option(min=1, help="Trainings of BERT and of DGRe; default 3.")] = None,
    other_seeds: Annotated[int | None, typer.Option(min=1, help="Trainings of all others; default 1.")] = None,
    queries: Annotated[
        int | None, typer.Option(min=1, help="Only the first n queries (of a fixed test's: to learn from).")
    ] = None,
    tests: Annotated[int | None, typer.Option(min=1, help="Only the first n queries of a fixed test.")] = None,
    epochs: Annotated[int | None, typer.Option(min=1, help="Default 5; the paper: 20.")] = None,
    max_length: Annotated[int | None, typer.Option(min=10, help="Tokens of a sequence; default 128.")] = None,
    chunks: Annotated[int | None, typer.Option(min=1, help="Sequences a document; default 2.")] = None,
    batch: Annotated[int | None, typer.Option(min=1, help="Pairs a step; default 16.")] = None,
    depth: Annotated[int | None, typer.Option(min=1, help="Candidates a query; default 100.")] = None,
    positives: Annotated[
        int | None, typer.Option(min=1, help="Relevant documents a query to learn from an epoch; default 4.")
    ] = None,
    audit: Annotated[
        int | None, typer.Option(min=1, help="Documents an axiom, of the opened models' audits; default 60.")
    ] = None,
    pairs: Annotated[int | None, typer.Option(min=1, help="Pairs whose heads are patched; default 40.")] = None,
    readings: Annotated[
        int | None, typer.Option(min=2, help="Candidates whose attention is read; default 120.")
    ] = None,
    models: Annotated[str | None, typer.Option(help="Rows of Table 2: bm25,bert,dgre,...; default all.")] = None,
    only: Annotated[
        str | None,
        typer.Option(help="Some parts: table1 to table6, layers, figures, opened; default all."),
    ] = None,
    ours: Annotated[
        bool, typer.Option(help="Rows of Tables 3 and 5 that the paper has not: learned threshold, InfoNCE, CLUB.")
    ] = True,
    query: Annotated[
        str | None, typer.Option(help="The judged query of the figures; default: a test query with many relevant.")
    ] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="A setting of all trainings, as of whyrank train: key=value.")
    ] = None,
    word_rate: Annotated[
        float | None, typer.Option(help="The rate of what is new in DRMM and Conv-KNRM; default 0.001.")
    ] = None,
    train_qrels: Annotated[
        str | None, typer.Option(help="Judgements to learn from, a file or a collection; the own are the test.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Train so many models at a time, one thread each.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Small sizes: less than ten minutes, not to believe in.")
    ] = False,
    seed: Annotated[
        int,
        typer.Option("--seed", min=0, max=2**32 - 1, help="Of the folds, the first training and the intervals."),
    ] = 0,
) -> None:
    """DGRe and its baselines: Tables 1 to 6 and Figures 6 to 8 of the paper; then BERT and DGRe opened."""
    start = backbone or (QUICK_BACKBONE if quick else BACKBONE)
    say(f"study disentangled: {start} on {collection}{', quick' if quick else ''}")
    from whyrank.learning.options import read_assignments
    from whyrank.papers.disentangled.sizes import Sizes
    from whyrank.papers.disentangled.variants import parse_models, parse_parts

    given = {
        "folds": folds, "seeds": seeds, "other_seeds": other_seeds, "queries": queries, "tests": tests,
        "epochs": epochs, "max_length": max_length, "chunks": chunks, "batch": batch, "depth": depth,
        "positives": positives, "word_rate": word_rate, "audit": audit, "pairs": pairs, "readings": readings,
    }  # fmt: skip
    known: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    sizes = replace(Sizes.quick() if quick else Sizes(), **known)
    parts, rows = parse_parts(only), parse_models(models or (QUICK_MODELS if quick else None))
    ground = _ground(collection, run, start, sizes, train_qrels, read_assignments(set_ or []), seed)
    if tests is not None and ground.what.test is None:
        raise UserError("--tests without a fixed test", todo="give --queries, or --train-qrels to fix a test")
    run_disentangled(ground, out, parts, rows, query=query, quick=quick, workers=workers, ours=ours)
    suggest(f"open {out / 'report.html'} in a browser", *_next(out, collection))


def _ground(
    collection: str,
    run: Path | None,
    backbone: str,
    sizes: Sizes,
    train_qrels: str | None,
    told: dict[str, str],
    seed: int,
) -> Ground:
    """What all trainings share, opened; what is told wrong is refused before that."""
    from whyrank.collections.catalogue import open_collection
    from whyrank.collections.given import first_stage_of
    from whyrank.learning.judgements import judged
    from whyrank.learning.plan import backbone_checkpoint
    from whyrank.papers.disentangled.trainings import Ground, check_told, fewer_tests

    check_told(told)
    backbone_checkpoint(backbone)
    if train_qrels is None and (sizes.folds or 1) == 1:
        train_qrels = TRAIN_QRELS.get(collection)
    what = fewer_tests(judged(open_collection(collection), train_qrels, most=sizes.queries), sizes.tests)
    first, origin = first_stage_of(what.collection, run, sizes.depth)
    return Ground(what, first, origin, backbone, sizes, seed, told, "BM25" if run is None else "first stage")


def run_disentangled(
    ground: Ground,
    out: Path,
    parts: tuple[str, ...],
    models: tuple[str, ...],
    *,
    query: str | None = None,
    quick: bool = False,
    workers: int | None = None,
    ours: bool = True,
) -> None:
    """All trainings that are not done yet, then the parts, then the report; the same folder takes other parts."""
    from whyrank.core.atomic import remove_folder
    from whyrank.core.runs import RunFolder
    from whyrank.core.stages import Stages
    from whyrank.papers.disentangled.report import write_study
    from whyrank.papers.disentangled.study import DisentangledStudy
    from whyrank.papers.disentangled.trainings import Trainings

    _check_tools(parts, workers)
    shared = ground.inputs()
    inputs = {
        **shared, "sizes": ground.sizes.shared(), "seed": ground.seed,
        "settings": dict(ground.told),
    }  # fmt: skip
    folder = RunFolder.claim(out, "study disentangled", inputs, asked=asked())
    stages = Stages(out / "stages" / STAGES)
    trainings = Trainings(out / "trainings", ground, shared)
    beside = partial(_beside, trainings, workers) if workers else None
    study = DisentangledStudy(
        trainings, parts, models, stages, _watch, _watching, _announce, query, _regret, beside, ours
    )
    study.check()
    folder.begin()
    _estimate(study, workers)
    for found in study.results():
        told = {**found, "quick": quick}
        manifest = folder.record(
            **study.about(),
            models=list(models),
            trainings=len(told["trainings"]),
            query=query,
            workers=workers,
            ours=ours,
        )
        paths = write_study(told, out, manifest)
    folder.save(manifest)
    remove_folder(out / "stages" / STAGES / "shards")
    _show(told)
    say(f"wrote {', '.join(path.name for path in paths)} to {out}")


def _check_tools(parts: tuple[str, ...], workers: int | None) -> None:
    """What the last parts need is asked for before the first: a training may take hours."""
    from whyrank.papers.disentangled.embeddings import check_scikit_learn
    from whyrank.text.wordnet import wordnet_synonyms

    if workers:
        open_workers(workers)
    if "figures" in parts:
        check_scikit_learn()
    if "opened" in parts:
        try:
            wordnet_synonyms("word")
        except UserError as error:
            todo = f"{error.todo}; or leave the opened models out (--only)"
            raise UserError(f"the audits need WordNet: {error.what}", where=error.where, todo=todo) from error


def _watch(name: str, count: int) -> AbstractContextManager[Progress]:
    return progress_bar(name, count, "pairs")


def _watching(training: Trainer) -> AbstractContextManager[OnProgress]:
    from whyrank.learning.api import say_plan
    from whyrank.learning.progress import ignore_progress, training_bar

    if not training.unfinished:
        return nullcontext(ignore_progress)
    say_plan(training, terminal())
    settings = training.plan.settings
    return training_bar(terminal(), training.steps, settings.epochs, settings.select)


def _beside(
    trainings: Trainings, workers: int, tasks: Mapping[Task, int]
) -> Iterator[tuple[Task, UserError | None]]:
    """Trains side by side; says at once whose loss is no number."""
    from whyrank.learning.api import say_plan
    from whyrank.learning.progress import training_bar
    from whyrank.learning.side_by_side import fit_side_by_side
    from whyrank.papers.disentangled.variants import VARIANTS

    if not tasks:
        return
    first = trainings.training(VARIANTS[next(iter(tasks)).name])
    say_plan(first, terminal())
    say(f"{len(tasks)} trainings, {min(workers, len(tasks))} at a time, one thread each")
    settings = first.plan.settings
    with training_bar(terminal(), sum(tasks.values()), settings.epochs, settings.select) as on_progress:
        fitted = fit_side_by_side(workers, lambda name: trainings.training(VARIANTS[name]), tasks, on_progress)
        for task, why in fitted:
            if why:
                say(f"{task}: {why.what}")
            yield task, why


def _announce(number: int, of: int, variant: Variant, done: bool) -> None:
    say(f"\n[{number}/{of}] {variant.title}{': done before' if done else ''}")


def _estimate(study: DisentangledStudy, workers: int | None) -> None:
    """How much there is to do, said before it begins."""
    from whyrank.papers.disentangled.estimate import work_of
    from whyrank.papers.disentangled.speed import speed_of
    from whyrank.papers.disentangled.variants import VARIANTS

    ground = study.trainings.ground
    to_do = {one: len(seeds) for one in study.variants if (seeds := study.trainings.missing(one))}
    if to_do:
        work = work_of(ground, study.plan, to_do)
        say(work.said({name: speed_of(ground.plan(VARIANTS[name]), workers) for name in work.sequences}))


def _regret(variant: Variant, why: str) -> None:
    say(f"{variant.title} is left out: {why}")


def _show(told: dict[str, Any]) -> None:
    """What is significant and what is not, on stdout."""
    from whyrank.papers.disentangled.report import statement

    for sentence in statement(told):
        print(sentence)


def _next(out: Path, collection: str) -> list[str]:
    """Look into DGRe itself, where it was trained."""
    model = next(iter(sorted((out / "trainings" / "dgre" / "models").glob("fold1-seed*"))), None)
    if model is None:
        return []
    return [command("audit", "--ranker", model, "--collection", collection, "-o", "RUN")]
