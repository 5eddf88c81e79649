"""The work of a study in its folder: train, tabulate, draw one query, open the models."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from whyrank.core.errors import UserError
from whyrank.core.runs import Run
from whyrank.core.stages import Stages
from whyrank.learning.material import Material, Values
from whyrank.learning.results import Training
from whyrank.learning.summary import first_stage_values
from whyrank.papers.disentangled.collection_numbers import collection_numbers, reference_orders
from whyrank.papers.disentangled.kept_models import KeptModels
from whyrank.papers.disentangled.opened import Opened
from whyrank.papers.disentangled.paper import findings
from whyrank.papers.disentangled.results import (
    CollectionNumbers,
    Disentangled,
    LengthTable,
    Table,
    TextsRead,
    TrainedVariant,
)
from whyrank.papers.disentangled.sizes import PASSAGE_MODELS
from whyrank.papers.disentangled.tables import found_by, length_table, table
from whyrank.papers.disentangled.texts_read import sampled_pairs, texts_read
from whyrank.papers.disentangled.train_all import Lacking, TrainAll, Trained
from whyrank.papers.disentangled.trainings import Trainings, TrainingSetup
from whyrank.papers.disentangled.variants import (
    ABLATIONS,
    BM25,
    MODELS,
    VARIANTS,
    Variant,
    comparisons,
    rows_of,
)
from whyrank.papers.disentangled.workload import speed_of, work_of

if TYPE_CHECKING:
    from whyrank.papers.disentangled.study import DisentangledStudy


@dataclass(frozen=True, eq=False)
class StudyWork:
    """The work of a study in its folder."""

    study: DisentangledStudy
    run: Run
    stages: Stages

    @property
    def setup(self) -> TrainingSetup:
        return self.study.setup

    @property
    def material(self) -> Material:
        return self.study.plan.material

    @property
    def folder(self) -> Path:
        assert self.run.path is not None
        return self.run.path

    @cached_property
    def trainings(self) -> Trainings:
        return Trainings(self.folder / "trainings", self.setup, self.setup.inputs())

    @cached_property
    def tested(self) -> list[str]:
        """The test queries of all folds."""
        return [qid for split in self.study.plan.splits for qid in split.test]

    @cached_property
    def references(self) -> dict[str, Values]:
        """Rows of Table 2 that are not models; Table 1 has them, too."""
        if not {"table1", "table2"} & {*self.study.parts}:
            return {}
        measures = self.study.plan.settings.measures
        make = lambda: reference_orders(self.material, self.tested, measures)  # noqa: E731
        return self.stages.typed("references", dict[str, Values], make)

    def results(self) -> Iterator[Disentangled]:
        """What is known after each training, then after the figures and each analysis of the opened models: what
        fails later takes nothing away that is measured."""
        self._say_workload()
        study = self.study
        train = TrainAll(self.trainings, study.variants, self.run.caller, study.workers)
        for trained, lacking in train.each():
            found = self._tabled(trained, lacking)
            yield found
        models = self._kept(trained)
        if "figures" in study.parts:
            found = self._with(found, "figures", "one_query",
                               lambda: study.figures.data(models, self.stages, self.run.progress))  # fmt: skip
            yield found
        if "opened" in study.parts:
            opened = Opened(
                study.plan, self.setup.backbone, models, self.setup.sizes, self.folder / "heads", self.stages,
                self.run.progress, self.setup.seed,
            )  # fmt: skip
            for name in ("audits", "heads", "attention"):
                found = self._with(found, name, name, getattr(opened, name))
                yield found

    def _with(self, found: Disentangled, part: str, field: str, make: Callable[[], object]) -> Disentangled:
        """The result with one more part, or with why it could not be done."""
        try:
            return replace(found, **{field: make()})  # type: ignore[arg-type]
        except UserError as error:
            return replace(found, not_done={**found.not_done, part: str(error)})

    def _say_workload(self) -> None:
        """How much there is to do, before it begins."""
        missing = {one: len(self.trainings.missing(one)) for one in self.study.variants}
        to_do = {one: seeds for one, seeds in missing.items() if seeds}
        if to_do:
            work = work_of(self.setup, self.study.plan, to_do)
            speeds = {
                name: speed_of(self.setup.plan(VARIANTS[name]), self.study.workers) for name in work.sequences
            }
            self.run.say(work.text(speeds))

    def _tabled(self, trained: Trained, lacking: Lacking) -> Disentangled:
        """All that is known of what is trained so far."""
        study, variants = self.study, self.study.variants
        tables, lengths = self._tables(trained)
        found = Disentangled(
            study.about,
            trainings=tuple(summary_of(one, trained[one.name]) for one in variants if one.name in trained),
            tables=tables,
            table1=self.stages.typed("collection", CollectionNumbers, self._numbers)
            if "table1" in study.parts
            else None,
            table6=lengths,
            reading=self.stages.typed("reading", TextsRead, self._reading) if trained else None,
            one_passage=tuple(VARIANTS[name].title for name in self._of_one_passage if name in trained),
            cut_queries=len({*study.plan.cut_queries} & {*self.tested}),
            lacking=dict(lacking),
            to_do=tuple(one.name for one in variants if one.name not in {*trained, *lacking}),
        )
        return replace(found, findings=findings(found))

    def _reading(self) -> TextsRead:
        sizes = self.setup.sizes
        how = {name: sizes.how_read(name) for name in MODELS if name != BM25}
        pieces = self.study.plan.backbone.pieces(sizes.max_length)
        return texts_read(pieces, sampled_pairs(self.material, self.tested), how)

    @property
    def _of_one_passage(self) -> list[str]:
        """Models of passages that have only one per document."""
        return [name for name in PASSAGE_MODELS if self.setup.sizes.how_read(name).chunks == 1]

    def _tables(self, trained: Trained) -> tuple[dict[str, Table], LengthTable | None]:
        study, seed, first = self.study, self.setup.seed, self.setup.first_name
        measures = study.plan.settings.measures
        found = found_by(trained, first_stage_values(study.plan))
        found |= {order: [values] for order, values in self.references.items()}
        tables = {}
        for part in (part for part in ("table2", *ABLATIONS) if part in study.parts):
            orders = ((order, order) for order in self.references if part == "table2")
            rows = [*rows_of(part, study.models, first, extra_rows=study.extra_rows), *orders]
            pairs = comparisons(part, study.models, first, extra_rows=study.extra_rows)
            tables[part] = table(part, rows, pairs, found, measures, seed)
        if "table6" not in study.parts:
            return tables, None
        tested = {qid: self.material.queries[qid] for qid in self.tested}
        return tables, length_table(tested, found, measures, seed, first)

    def _numbers(self) -> CollectionNumbers:
        what, splits, depth = self.setup.what, self.study.plan.splits, self.setup.sizes.depth
        return collection_numbers(what, self.material, splits, depth, self.references)

    def _kept(self, trained: Trained) -> KeptModels:
        """The models of the first fold, by variant."""
        folders = {
            name: self.trainings.models(VARIANTS[name], one)
            for name, one in trained.items()
            if VARIANTS[name].kept
        }
        return KeptModels(folders, self.setup.sizes.max_length)


def summary_of(variant: Variant, training: Training) -> TrainedVariant:
    """What the study's report says of a training."""
    how, model = training.settings.training, training.settings.model
    return TrainedVariant(
        variant.name, variant.title, variant.model, training.seeds, len(training.folds),
        chosen=tuple(one.chosen for one in training.models),
        epochs=tuple(len(one.history) - 1 for one in training.models), pairs=training.pairs,
        rank_loss=str(model["rank_loss"]), rate=how.rate, backbone_rate=how.backbone_rate,
        tokens=_count(model["max_length"]), chunks=_count(model.get("chunks", 1)),
        report=f"trainings/{variant.name}/report.html",
    )  # fmt: skip


def _count(value: object) -> int:
    assert isinstance(value, int)
    return value
