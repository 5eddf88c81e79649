"""The trainings of a study: each variant is one training of `whyrank train`, in a run folder of its own.

Nothing is trained twice: a finished training is read from its folder, and one that was killed goes on after the
last epoch that was finished.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from whyrank.collections.records import Run as Ranking
from whyrank.collections.records import fingerprint_of
from whyrank.core.errors import UserError, nearest
from whyrank.core.results import plain
from whyrank.core.runs import Run, holds
from whyrank.learning.contents import lines_hash, vectors_hash, weights_hash
from whyrank.learning.judgements import Judged
from whyrank.learning.models.catalogue import model_class
from whyrank.learning.models.words import WordSettings
from whyrank.learning.plan import Basis, Job, Plan, backbone_checkpoint, plan_training
from whyrank.learning.progress import OnProgress
from whyrank.learning.results import Training
from whyrank.learning.settings import TrainSettings
from whyrank.learning.settings_values import names_of, settings_of
from whyrank.learning.summary import tables, training_result
from whyrank.learning.trainer import Trainer
from whyrank.papers.disentangled.sizes import WORD_MODELS, Settings, Sizes
from whyrank.papers.disentangled.variants import Variant

#: Settings of the models that may be set for those that have them; the others are what the tables compare.
OF_MODELS = ("rank_loss", "margin", "gate_bias", "aggregation", "positions", "vectors")
#: Shows a training that is about to run; yields the function that its progress is passed to.
ShowTraining = Callable[[Trainer], AbstractContextManager[OnProgress]]


@dataclass(frozen=True, eq=False)
class TrainingSetup:
    """What all trainings of a study share. `settings` are the user's own settings of the training, which win;
    `first_name` is the name of the first stage's row."""

    what: Judged
    first: Ranking
    origin: str
    backbone: str
    sizes: Sizes
    seed: int = 0
    settings: Mapping[str, str] = field(default_factory=dict)
    first_name: str = "BM25"
    _plans: dict[str, Plan] = field(default_factory=dict, init=False, repr=False)

    def plan(self, variant: Variant) -> Plan:
        """A variant's training, planned and checked once; the folds are the same for all."""
        if variant.name not in self._plans:
            self._plans[variant.name] = self._planned(variant)
        return self._plans[variant.name]

    def _planned(self, variant: Variant) -> Plan:
        sizes = self.sizes
        return plan_training(
            variant.model, self.backbone, self.what, self.first, self.settings_of(variant),
            folds=sizes.folds, seeds=sizes.seeds_of(variant, self.seed), k=sizes.depth, queries=sizes.queries,
            basis=self._basis,
        )  # fmt: skip

    @cached_property
    def _basis(self) -> Basis:
        """What all plans share; a setting of the training is the same for all."""
        own = {key: value for key, value in self.settings.items() if key in names_of(TrainSettings)}
        settings = settings_of(TrainSettings, own)
        return Basis.of(self.what, self.first, self.backbone, settings, self.sizes.depth)

    def check(self, variants: Iterable[Variant]) -> None:
        """Raises for what does not fit one of the variants: settings, folds, lengths, batches, files."""
        check_settings(self.settings)
        for variant in variants:
            self.plan(variant)

    def settings_of(self, variant: Variant) -> Settings:
        """The settings of a training: by the sizes, then by the user, whose rate is the transformers'."""
        known = [*names_of(model_class(variant.model).Settings), *names_of(TrainSettings)]
        own = {key: value for key, value in self.settings.items() if key in known}
        if variant.model in WORD_MODELS:
            own.pop("rate", None)
        return {**self.sizes.settings_of(variant), **own}

    @property
    def _vectors(self) -> str | None:
        """The file of word vectors, if one is set."""
        own = {name: value for name, value in self.settings.items() if name == "vectors"}
        return settings_of(WordSettings, own).vectors

    def inputs(self) -> dict[str, Any]:
        """What decides all trainings, by content."""
        return {
            "backbone": weights_hash(backbone_checkpoint(self.backbone)),
            "collection": self.what.collection.fingerprint(),
            "first_stage": fingerprint_of(self.first), "test": lines_hash(self.what.test or ()),
            "validation": lines_hash(self.what.validation or ()),
            **({"vectors": vectors_hash(Path(self._vectors))} if self._vectors else {}),
        }  # fmt: skip


class FirstFoldKept(Trainer):
    """A training that keeps the models of its first fold, of all seeds, or none."""

    def model_folder(self, job: Job) -> Path | None:
        return self.models / str(job) if self.keep == "all" and job.fold == 1 else None


@dataclass(frozen=True, eq=False)
class Trainings:
    """A folder with one run folder per variant."""

    folder: Path
    setup: TrainingSetup
    inputs: Mapping[str, Any]

    def is_done(self, variant: Variant) -> bool:
        return not self.missing(variant)

    def missing(self, variant: Variant) -> tuple[int, ...]:
        """The seeds of a variant that are not trained yet."""
        known = self._known(variant)
        wanted = self.setup.sizes.seeds_of(variant, self.setup.seed)
        return tuple(seed for seed in wanted if known is None or seed not in known.seeds)

    def train(self, variant: Variant, show: ShowTraining) -> Training:
        """A variant, trained now or before: seeds that are new are added to the others."""
        plan = self.setup.plan(variant)
        run, missing = self._claimed(variant, plan), self.missing(variant)
        known = self._known(variant)
        if missing:
            known = self._trained(variant, replace(plan, seeds=missing), run, known, show)
        assert known is not None
        return of_seeds(known, plan.seeds)

    def training(self, variant: Variant) -> Trainer:
        """The training of a variant's missing seeds."""
        plan = self.setup.plan(variant)
        return self._begun(variant, replace(plan, seeds=self.missing(variant)), self._claimed(variant, plan))

    def _claimed(self, variant: Variant, plan: Plan) -> Run:
        inputs = {
            **self.inputs, "model": variant.model, "settings": plain(plan.all_settings), "seed": self.setup.seed,
            "folds": len(plan.splits), "k": self.setup.sizes.depth, "queries": self.setup.sizes.queries,
        }  # fmt: skip
        return Run.open(self.folder / variant.name, Training.COMMAND, inputs, hold=False)

    def _begun(self, variant: Variant, plan: Plan, run: Run) -> Trainer:
        out, keep = self.folder / variant.name, "all" if variant.kept else "none"
        about = {"candidates": f"{self.setup.origin}, {self.setup.sizes.depth} per query"}
        run.begin()
        epochs = run.work("training")
        assert epochs is not None
        return FirstFoldKept(plan, out, epochs, keep=keep, about=about)

    def _known(self, variant: Variant) -> Training | None:
        """What is trained already; nothing where it is not there, or not as it was written."""
        folder = self.folder / variant.name
        return Training.read(folder) if holds(folder, Training.FILE) else None

    def _trained(
        self, variant: Variant, plan: Plan, run: Run, known: Training | None, show: ShowTraining
    ) -> Training:
        """Trains the seeds of a plan, and writes them with those that are known."""
        training = self._begun(variant, plan, run)
        with show(training) as on_progress:
            fitted = training.run(on_progress)
        result = joined(known, training_result(training, fitted, self.setup.origin))
        run.save(
            result, jobs=len(result.models), pairs_per_epoch=list(result.pairs), seeds=list(result.seeds),
            judgements=plain(result.judgements),
            backbone=result.backbone, collection=result.collection, first_stage=result.first_stage,
        )  # fmt: skip
        training.forget()
        return result

    def models(self, variant: Variant, training: Training) -> dict[int, Path]:
        """The kept models of a variant's first fold, by seed."""
        found = {one.seed: one.model for one in training.models if one.fold == 1 and one.model}
        return {seed: self.folder / variant.name / model for seed, model in found.items()}


def joined(before: Training | None, now: Training) -> Training:
    """Two trainings of other seeds, merged."""
    if before is None:
        return now
    seeds, runs = (*before.seeds, *now.seeds), (*before.runs, *now.runs)
    both = replace(now, models=(*before.models, *now.models), seeds=seeds, runs=runs)
    return of_seeds(both, seeds, changed=True)


def of_seeds(training: Training, seeds: Iterable[int], *, changed: bool = False) -> Training:
    """A training with these seeds alone, and the tables of these."""
    chosen = tuple(sorted(seeds))
    models = [one for one in training.models if one.seed in chosen]
    models = sorted(models, key=lambda one: (one.fold, one.seed))
    if chosen == training.seeds and tuple(models) == training.models and not changed:
        return training
    runs = dict(zip(training.seeds, training.runs, strict=True))
    measures = training.settings.training.measures
    means, by_fold, differences = tables(training.model, models, training.first_stage_values, measures, chosen[0])
    return replace(
        training, seeds=chosen, models=tuple(models), runs=tuple(runs[seed] for seed in chosen), means=means,
        by_fold=by_fold, differences=differences,
    )  # fmt: skip


def fewer_tests(what: Judged, most: int | None) -> Judged:
    """The same with the first so many of a fixed test's queries; the others are not learned from either."""
    if what.test is None or most is None or len(what.test) <= most:
        return what
    dropped, known = set(what.test[most:]), what.collection
    qrels = {qid: grades for qid, grades in known.qrels.items() if qid not in dropped}
    fewer = known.about(known.queries, qrels)
    return replace(what, collection=fewer, test=what.test[:most])


def check_settings(settings: Mapping[str, str]) -> None:
    """Raises unless these are settings of the training, other than the study's own options, or of the models."""
    sizes = {"epochs", "batch", "positives"}
    known = [*(name for name in names_of(TrainSettings) if name not in sizes), *OF_MODELS]
    for name in settings:
        if name in sizes:
            raise UserError(f"'{name}' is set for all trainings of a study", todo=f"give its own option {name}")
        if name not in known:
            raise UserError(f"the trainings of a study have no setting '{name}'", todo=nearest(name, known))
