"""The study itself: trainings first, then tables, figures and opened models, each kept as soon as it is done."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from whyrank.collections.catalogue import open_collection
from whyrank.collections.opening import first_stage_of
from whyrank.core.atomic import remove_folder
from whyrank.core.caller import SILENT, Caller
from whyrank.core.errors import UserError, nearest
from whyrank.core.results import plain
from whyrank.core.runs import Run
from whyrank.core.stages import Stages
from whyrank.engines.engine import open_workers
from whyrank.learning.judgements import JudgementsUsed, judged
from whyrank.learning.plan import Plan, backbone_checkpoint
from whyrank.papers.disentangled.embeddings import check_scikit_learn
from whyrank.papers.disentangled.one_query import QueryFigures
from whyrank.papers.disentangled.results import (
    About,
    Disentangled,
    FoldSizes,
)
from whyrank.papers.disentangled.sizes import Sizes
from whyrank.papers.disentangled.trainings import TrainingSetup, check_settings, fewer_tests
from whyrank.papers.disentangled.variants import (
    MODELS,
    PARTS,
    VARIANTS,
    Variant,
    parse_models,
    parse_parts,
    variants_of,
)
from whyrank.papers.study import Study, run_study
from whyrank.text.wordnet import wordnet_synonyms

T = TypeVar("T")
#: Collections whose own judgements are a test, and what to learn from.
TRAIN_QRELS = {"trec-rag-2024": "trec-rag-2024/umbrela"}
#: The shape of what stages hold: another name for another shape, and older folders do them again.
STAGES = "3"
BACKBONE, QUICK_BACKBONE = "bi-minilm-l6", "bi-minilm-l3"
QUICK_MODELS = "bm25,drmm,bert,lgre,dgre"


def study(
    backbone: str | None = None,
    collection: str = "trec-rag-2024",
    *,
    out: Path,
    run: Path | None = None,
    train_qrels: str | None = None,
    settings: Mapping[str, str] | None = None,
    only: str | None = None,
    models: str | None = None,
    extra_rows: bool = True,
    query: str | None = None,
    workers: int | None = None,
    quick: bool = False,
    seed: int = 0,
    caller: Caller = SILENT,
    **sizes: int | float | None,
) -> Disentangled:
    """DGRe and its baselines: Tables 1 to 6 and Figures 6 to 8 of the paper; then BERT and DGRe opened.

    `only` some parts (`table2,opened`), `models` some rows of Table 2, without `extra_rows` no rows that the paper
    has not. `settings` are of all trainings, `sizes` the fields of `Sizes`; `quick` has small ones.
    """
    chosen = _sizes(sizes, quick)
    parts, rows = parse_parts(only), parse_models(models or (QUICK_MODELS if quick else None))
    start = backbone or (QUICK_BACKBONE if quick else BACKBONE)
    setup = training_setup(collection, start, chosen, run, train_qrels, settings or {}, seed)
    if sizes.get("tests") is not None and setup.what.test is None:
        raise UserError("tests without a fixed test", todo="give queries, or train_qrels to fix a test")
    return run_disentangled(DisentangledStudy(setup, parts, rows, query, workers, extra_rows, quick), out, caller)


def run_disentangled(asked: DisentangledStudy, out: Path, caller: Caller = SILENT) -> Disentangled:
    """What can be refused is refused before anything is trained, or the folder claimed."""
    asked.check()
    found = run_study(asked, out, caller)
    assert isinstance(found, Disentangled)
    return found


def _sizes(given: Mapping[str, Any], quick: bool) -> Sizes:
    base = Sizes.quick() if quick else Sizes()
    for name in given:
        if name not in vars(base):
            raise UserError(f"the study disentangled has no option '{name}'", todo=nearest(name, vars(base)))
    return replace(base, **{name: value for name, value in given.items() if value is not None})


def training_setup(
    collection: str,
    backbone: str,
    sizes: Sizes,
    run: Path | None = None,
    train_qrels: str | None = None,
    settings: Mapping[str, str] | None = None,
    seed: int = 0,
) -> TrainingSetup:
    """What all trainings share, opened; wrong settings are refused before that."""
    check_settings(settings or {})
    backbone_checkpoint(backbone)
    if train_qrels is None and (sizes.folds or 1) == 1:
        train_qrels = TRAIN_QRELS.get(collection)
    what = fewer_tests(judged(open_collection(collection), train_qrels, most=sizes.queries), sizes.tests)
    first, origin = first_stage_of(what.collection, run, sizes.depth)
    first_name = "BM25" if run is None else "first stage"
    return TrainingSetup(what, first, origin, backbone, sizes, seed, settings or {}, first_name)


@dataclass(frozen=True, eq=False)
class DisentangledStudy(Study):
    """Parts of the paper on one collection. `query` is the one that figures show; without `extra_rows` Tables 3
    and 5 have the paper's rows only."""

    NAME: ClassVar[str] = "disentangled"

    setup: TrainingSetup
    parts: Sequence[str] = PARTS
    models: Sequence[str] = MODELS
    query: str | None = None
    workers: int | None = None
    extra_rows: bool = True
    quick: bool = False

    def inputs(self) -> dict[str, Any]:
        setup = self.setup
        sizes, settings = setup.sizes.shared(), dict(setup.settings)
        return {**setup.inputs(), "sizes": sizes, "seed": setup.seed, "settings": settings}

    def facts(self) -> dict[str, Any]:
        asked = {
            "models": list(self.models), "query": self.query, "workers": self.workers,
            "extra_rows": self.extra_rows,
        }  # fmt: skip
        return {**plain(self.about), **asked}

    def results(self, run: Run) -> Iterator[Disentangled]:
        assert run.path is not None
        from whyrank.papers.disentangled.work import StudyWork

        work = StudyWork(self, run, Stages(run.path / "stages" / STAGES))
        yield from work.results()
        remove_folder(run.path / "stages" / STAGES / "shards")

    def check(self) -> None:
        """Raises for what can be refused before anything is trained: tools, folds, lengths, settings, query."""
        if self.workers:
            open_workers(self.workers)
        if "figures" in self.parts:
            check_scikit_learn()
        if "opened" in self.parts:
            _check_wordnet()
        self.setup.check(self.variants)
        assert self.figures.qid in self.plan.material.queries

    @property
    def variants(self) -> list[Variant]:
        return variants_of(self.parts, self.models, extra_rows=self.extra_rows)

    @cached_property
    def plan(self) -> Plan:
        """Vanilla BERT's training: its material and its folds are those of all."""
        return self.setup.plan(VARIANTS["bert"])

    @property
    def figures(self) -> QueryFigures:
        return QueryFigures(self.plan, self.query, self.setup.seed)

    @cached_property
    def about(self) -> About:
        setup, plan = self.setup, self.plan
        return About(
            setup.what.collection.name, setup.backbone, setup.origin, setup.sizes, dict(setup.settings),
            setup.seed, tuple(self.parts), plan.settings.select, setup.what.test is not None,
            JudgementsUsed.of(setup.what, plan.splits),
            tuple(FoldSizes(*(len(qids) for _, qids in split)) for split in plan.splits), plan.material.not_found,
            plan.settings.measures, self.quick,
        )  # fmt: skip


def _check_wordnet() -> None:
    """The audits need it in the end: better refused before trainings of hours."""
    try:
        wordnet_synonyms("word")
    except UserError as error:
        todo = f"{error.todo}; or drop the part 'opened' (only)"
        raise UserError(f"the audits need WordNet: {error.what}", where=error.where, todo=todo) from error
