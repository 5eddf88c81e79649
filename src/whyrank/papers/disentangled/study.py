"""The study itself: trainings first, then tables, figures and opened models, each kept as soon as it is done."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from whyrank.core.errors import UserError
from whyrank.core.progress import OpenProgress
from whyrank.core.results import plain
from whyrank.core.stages import Stages
from whyrank.learning.judgements import JudgementsUsed
from whyrank.learning.material import Material, Values
from whyrank.learning.optimisation import NotFinite
from whyrank.learning.plan import Plan
from whyrank.learning.results import Training
from whyrank.learning.side_by_side import Task, tasks_of
from whyrank.learning.summary import first_stage_values
from whyrank.papers.disentangled.collection_numbers import collection_numbers
from whyrank.papers.disentangled.figures import QueryFigures
from whyrank.papers.disentangled.kept_models import KeptModels
from whyrank.papers.disentangled.opened import Opened
from whyrank.papers.disentangled.query_length import length_table
from whyrank.papers.disentangled.reference_orders import reference_orders
from whyrank.papers.disentangled.sizes import PASSAGE_MODELS
from whyrank.papers.disentangled.tables import found_by, table
from whyrank.papers.disentangled.trainings import Trainings, Watching
from whyrank.papers.disentangled.variants import (
    ABLATIONS,
    BM25,
    MODELS,
    VARIANTS,
    Variant,
    comparisons,
    rows_of,
    variants_of,
)
from whyrank.papers.disentangled.what_is_read import sampled_pairs, what_is_read

#: Told before each training: its number, how many there are, and what it is; and whether it was done before.
Announce = Callable[[int, int, Variant, bool], object]
#: Told of a training that could not be finished, and why.
Regret = Callable[[Variant, str], object]
#: Fits every job that is to be done, given with its steps. Gives each as soon as it is over, and why it came to
#: nothing where its loss is no number.
Beside = Callable[[Mapping[Task, int]], Iterable[tuple[Task, UserError | None]]]
#: Variant -> what train.json says of it.
Trained = Mapping[str, Training]
#: Variant -> why it could not be trained.
Lacking = Mapping[str, str]


@dataclass(frozen=True, eq=False)
class DisentangledStudy:
    """Parts of the paper on one collection. `query` is the one that figures show; `watch` shows work that is no
    training, `watching` a training; `beside` fits jobs side by side, not one after another; without `ours`
    Tables 3 and 5 have the paper's rows only."""

    trainings: Trainings
    parts: Sequence[str]
    models: Sequence[str]
    stages: Stages
    watch: OpenProgress
    watching: Watching
    announce: Announce
    query: str | None = None
    regret: Regret = lambda variant, why: None
    beside: Beside | None = None
    ours: bool = True

    @cached_property
    def plan(self) -> Plan:
        """Vanilla BERT's training: its material and its folds are those of all."""
        return self.trainings.ground.plan(VARIANTS["bert"])

    @property
    def material(self) -> Material:
        return self.plan.material

    @property
    def tested(self) -> list[str]:
        """The test queries of all folds."""
        return [qid for split in self.plan.splits for qid in split.test]

    @cached_property
    def references(self) -> dict[str, Values]:
        """Rows of Table 2 that are no models, which Table 1 tells, too."""
        if not {"table1", "table2"} & {*self.parts}:
            return {}
        measures = self.plan.settings.measures
        return self.stages.get("references", lambda: reference_orders(self.material, self.tested, measures))

    @property
    def variants(self) -> list[Variant]:
        return variants_of(self.parts, self.models, ours=self.ours)

    def check(self) -> None:
        """Raises for what can be refused before anything is trained: folds, lengths, settings, the query."""
        self.trainings.ground.check(self.variants)
        assert self.figures.qid in self.material.queries

    def results(self) -> Iterator[dict[str, Any]]:
        """What study.json says after each training, then after the figures and each way to open the models: what
        fails later takes nothing away that is measured."""
        for trained, lacking in self.train():
            told = self.tabled(trained, lacking)
            yield told
        if "figures" in self.parts:
            told = {**told, "figures": self._figures(trained)}
            yield told
        if "opened" in self.parts:
            for name, one in self._opened(trained).data(self.stages, self.watch):
                told = {**told, "opened": {**told.get("opened", {}), name: one}}
                yield told

    def tabled(self, trained: Trained, lacking: Lacking) -> dict[str, Any]:
        """All that is known of what is trained so far."""
        measures = list(self.plan.settings.measures)
        told: dict[str, Any] = {
            **self.about(),
            "trainings": [_told(one, trained[one.name]) for one in self.variants if one.name in trained],
            "reading": self.stages.get("reading", self._reading) if trained else None,
            "one_passage": [VARIANTS[name].title for name in self._of_one_passage if name in trained],
            "cut_queries": len({*self.plan.cut_queries} & {*self.tested}), "lacking": dict(lacking),
            "to_do": [one.name for one in self.variants if one.name not in {*trained, *lacking}],
            "measures": measures, "tables": self.tables(trained, measures),
        }  # fmt: skip
        if "table1" in self.parts:
            told["collection_numbers"] = self.stages.get("collection", self._numbers)
        return told

    def _reading(self) -> dict[str, Any]:
        ground = self.trainings.ground
        told = {name: ground.sizes.settings_of(VARIANTS[name]) for name in MODELS if name != BM25}
        pieces = self.plan.backbone.pieces(ground.sizes.max_length)
        return what_is_read(pieces, sampled_pairs(self.material, self.tested), told)

    @property
    def _of_one_passage(self) -> list[str]:
        """Models of passages that have only one of a document."""
        sizes = self.trainings.ground.sizes
        return [name for name in PASSAGE_MODELS if sizes.settings_of(VARIANTS[name])["chunks"] == 1]

    def _figures(self, trained: Trained) -> dict[str, Any]:
        """The figures' data, or why there are none."""
        try:
            return self.figures.data(self.kept(trained), self.stages, self.watch)
        except UserError as error:
            return {"lacking": str(error)}

    @property
    def figures(self) -> QueryFigures:
        return QueryFigures(self.plan, self.query, self.trainings.ground.seed)

    def _opened(self, trained: Trained) -> Opened:
        ground, folder = self.trainings.ground, self.trainings.folder.parent / "heads"
        return Opened(self.plan, ground.backbone, self.kept(trained), ground.sizes, folder, ground.seed)

    def about(self) -> dict[str, Any]:
        ground = self.trainings.ground
        return {
            "collection": ground.what.collection.name, "backbone": ground.backbone, "first_stage": ground.origin,
            "sizes": asdict(ground.sizes), "told": dict(ground.told), "seed": ground.seed,
            "parts": list(self.parts), "select": self.plan.settings.select,
            "fixed_test": ground.what.test is not None,
            "judgements": plain(JudgementsUsed.of(ground.what, self.plan.splits)),
            "folds": [{part: len(qids) for part, qids in split} for split in self.plan.splits],
            "not_found": self.material.not_found,
        }  # fmt: skip

    def train(self) -> Iterator[tuple[Trained, Lacking]]:
        """What train.json says of each variant so far, and why some are lacking: after each training that was not
        done before, and last of all of them."""
        found: dict[str, Training] = {}
        lacking: dict[str, str] = {}
        for number, (variant, lost) in enumerate(self._one_by_one(), start=1):
            done = self.trainings.is_done(variant)
            self.announce(number, len(self.variants), variant, done)
            result = lost or self._train(variant)
            if isinstance(result, UserError):
                lacking[variant.name] = result.what
                self.regret(variant, result.what)
            else:
                found[variant.name] = result
            if not done and number < len(self.variants):
                yield found, lacking
        yield found, lacking

    def _train(self, variant: Variant) -> Training | UserError:
        """What train.json says of a variant, or why it came to nothing: its loss was no number."""
        try:
            return self.trainings.train(variant, self.watching)
        except UserError as error:
            if isinstance(error.__cause__, NotFinite):
                return error
            raise

    def _one_by_one(self) -> Iterator[tuple[Variant, UserError | None]]:
        """Those that are done before, then the others: to be trained now or, side by side, as they come; and why
        one of these came to nothing."""
        tasks = self.tasks() if self.beside else {}
        left = Counter(task.name for task in tasks)
        ready = [variant for variant in self.variants if not left[variant.name]]
        for variant in sorted(ready, key=lambda one: not self.trainings.is_done(one)):
            yield variant, None
        lost: dict[str, UserError] = {}
        for task, why in self.beside(tasks) if self.beside else ():
            left[task.name] -= 1
            if why:
                lost[task.name] = why
            if not left[task.name]:
                yield VARIANTS[task.name], lost.get(task.name)

    def tasks(self) -> dict[Task, int]:
        """Every job that is to be done, and its steps."""
        found: dict[Task, int] = {}
        for variant in self.variants:
            if not self.trainings.is_done(variant):
                found |= tasks_of(variant.name, self.trainings.training(variant))
        return found

    def tables(self, trained: Trained, measures: Sequence[str]) -> dict[str, Any]:
        found, seed = found_by(trained, first_stage_values(self.plan)), self.trainings.ground.seed
        first = self.trainings.ground.first_name
        found |= {order: [values] for order, values in self.references.items()}
        told: dict[str, Any] = {}
        for part in ("table2", *ABLATIONS):
            if part in self.parts:
                rows = [
                    *rows_of(part, self.models, first, ours=self.ours),
                    *((order, order) for order in self.references if part == "table2"),
                ]
                pairs = comparisons(part, self.models, first, ours=self.ours)
                told[part] = table(part, rows, pairs, found, measures, seed)
        if "table6" in self.parts:
            tested = {qid: self.material.queries[qid] for qid in self.tested}
            told["table6"] = length_table(tested, found, measures, seed, first)
        return told

    def _numbers(self) -> dict[str, Any]:
        ground = self.trainings.ground
        how = ground.sizes.depth, self.references
        return collection_numbers(ground.what, self.material, self.plan.splits, *how)

    def kept(self, trained: Trained) -> KeptModels:
        """The models of the first fold, by variant."""
        folders = {
            name: self.trainings.models(VARIANTS[name], told)
            for name, told in trained.items()
            if VARIANTS[name].kept
        }
        return KeptModels(folders, self.trainings.ground.sizes.max_length)


def _told(variant: Variant, told: Training) -> dict[str, Any]:
    """What the study's report says of a training; the rest is in its own."""
    chosen = [one.chosen for one in told.models]
    return {
        "name": variant.name, "title": variant.title, "model": variant.model, "seeds": list(told.seeds),
        "folds": len(told.folds), "chosen": chosen, "idle": chosen.count(0),
        "epochs": [len(one.history) - 1 for one in told.models], "pairs": list(told.pairs),
        "settings": plain(told.settings), "report": f"trainings/{variant.name}/report.html",
    }  # fmt: skip
