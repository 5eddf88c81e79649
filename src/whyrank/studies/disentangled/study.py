"""The study itself: trainings first, then tables, figures and opened models, each kept as soon as it is done."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from whyrank.learning.material import Material
from whyrank.learning.training.plan import Plan
from whyrank.learning.training.summary import first_stage_values
from whyrank.rankers.ranker import Watch
from whyrank.store.stages import Stages
from whyrank.studies.disentangled.collection_numbers import collection_numbers
from whyrank.studies.disentangled.figures import QueryFigures
from whyrank.studies.disentangled.kept_models import KeptModels
from whyrank.studies.disentangled.opened import Opened
from whyrank.studies.disentangled.query_length import length_table
from whyrank.studies.disentangled.tables import found_by, table
from whyrank.studies.disentangled.trainings import Trainings, Watching
from whyrank.studies.disentangled.variants import (
    ABLATIONS,
    VARIANTS,
    Variant,
    comparisons,
    rows_of,
    variants_of,
)

#: Told before each training: its number, how many there are, and what it is; and whether it was done before.
Announce = Callable[[int, int, Variant, bool], object]


@dataclass(frozen=True, eq=False)
class DisentangledStudy:
    """Parts of the paper on one collection. `query` is the one that figures show; `watch` shows work that is no
    training, `watching` a training."""

    trainings: Trainings
    parts: Sequence[str]
    models: Sequence[str]
    stages: Stages
    watch: Watch
    watching: Watching
    announce: Announce
    query: str | None = None

    @cached_property
    def plan(self) -> Plan:
        """Vanilla BERT's training: its material and its folds are those of all."""
        return self.trainings.ground.plan(VARIANTS["bert"])

    @property
    def material(self) -> Material:
        return self.plan.material

    @property
    def variants(self) -> list[Variant]:
        return variants_of(self.parts, self.models)

    def check(self) -> None:
        """Raises for what can be refused before anything is trained: folds, lengths, settings, the query."""
        self.trainings.ground.check(self.variants)
        assert self.figures.qid in self.material.queries

    def result(self) -> dict[str, Any]:
        """Everything, for study.json."""
        trained = self.train()
        measures = list(self.plan.settings.measures)
        told: dict[str, Any] = {
            **self.about(), "trainings": [_told(VARIANTS[name], one) for name, one in trained.items()],
            "measures": measures, "tables": self.tables(trained, measures),
        }  # fmt: skip
        if "table1" in self.parts:
            told["collection_numbers"] = self.stages.get("collection", self._numbers)
        if "figures" in self.parts:
            told["figures"] = self.figures.data(self.kept(trained), self.stages, self.watch)
        if "opened" in self.parts:
            told["opened"] = self._opened(trained).data(self.stages, self.watch)
        return told

    @property
    def figures(self) -> QueryFigures:
        return QueryFigures(self.plan, self.query, self.trainings.ground.seed)

    def _opened(self, trained: Mapping[str, Mapping[str, Any]]) -> Opened:
        ground, folder = self.trainings.ground, self.trainings.folder.parent / "heads"
        return Opened(self.plan, ground.backbone, self.kept(trained), ground.sizes, folder, ground.seed)

    def about(self) -> dict[str, Any]:
        ground = self.trainings.ground
        return {
            "collection": ground.what.collection.name, "backbone": ground.backbone, "first_stage": ground.origin,
            "sizes": asdict(ground.sizes), "told": dict(ground.told), "seed": ground.seed,
            "parts": list(self.parts), "select": self.plan.settings.select,
            "fixed_test": ground.what.test is not None,
            "folds": [{part: len(qids) for part, qids in split} for split in self.plan.splits],
            "not_found": self.material.not_found,
        }  # fmt: skip

    def train(self) -> dict[str, dict[str, Any]]:
        """What train.json says of each variant."""
        found, wanted = {}, self.variants
        for number, variant in enumerate(wanted, start=1):
            self.announce(number, len(wanted), variant, self.trainings.is_done(variant))
            found[variant.name] = self.trainings.train(variant, self.watching)
        return found

    def tables(self, trained: Mapping[str, Mapping[str, Any]], measures: Sequence[str]) -> dict[str, Any]:
        found, seed = found_by(trained, first_stage_values(self.plan)), self.trainings.ground.seed
        told: dict[str, Any] = {}
        for part in ("table2", *ABLATIONS):
            if part in self.parts:
                rows, pairs = rows_of(part, self.models), comparisons(part, self.models)
                told[part] = table(part, rows, pairs, found, measures, seed)
        if "table6" in self.parts:
            tested = {qid: self.material.queries[qid] for split in self.plan.splits for qid in split.test}
            told["table6"] = length_table(tested, found, measures, seed)
        return told

    def _numbers(self) -> dict[str, Any]:
        ground = self.trainings.ground
        return collection_numbers(ground.what, self.material, self.plan.splits, ground.sizes.depth)

    def kept(self, trained: Mapping[str, Mapping[str, Any]]) -> KeptModels:
        """The models of the first fold, by variant."""
        folders = {
            name: self.trainings.models(VARIANTS[name], told)
            for name, told in trained.items()
            if VARIANTS[name].kept
        }
        return KeptModels(folders, self.trainings.ground.sizes.max_length)


def _told(variant: Variant, told: Mapping[str, Any]) -> dict[str, Any]:
    """What the study's report says of a training; the rest is in its own."""
    chosen = [run["chosen"] for run in told["runs"]]
    return {
        "name": variant.name, "title": variant.title, "model": variant.model, "seeds": told["seeds"],
        "folds": len(told["folds"]), "chosen": chosen, "idle": chosen.count(0),
        "epochs": [len(run["history"]) - 1 for run in told["runs"]], "pairs": told["pairs"],
        "settings": told["settings"], "report": f"trainings/{variant.name}/report.html",
    }  # fmt: skip
