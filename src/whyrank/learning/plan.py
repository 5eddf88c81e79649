"""A training planned and checked: what can be refused is refused before anything is trained."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple

from whyrank.collections.collection import Collection
from whyrank.collections.records import Run
from whyrank.core.errors import UserError
from whyrank.learning.graded_pairs import GradedPairs
from whyrank.learning.judgements import Judged
from whyrank.learning.material import Candidates, Material
from whyrank.learning.models.catalogue import model_class
from whyrank.learning.models.network import Ingredients, Network, NetworkSettings, TransformerNetwork
from whyrank.learning.optimisation import seeded
from whyrank.learning.options import settled
from whyrank.learning.settings import AllSettings, TrainSettings
from whyrank.learning.splits import Split, fold_queries, repeated
from whyrank.rankers.checkpoint import Checkpoint
from whyrank.rankers.copying import check_links
from whyrank.rankers.find import find_checkpoint
from whyrank.rankers.tokenizer_files import is_tokenizer_file

FOLDS = 5


class Job(NamedTuple):
    """One training: the number of its fold (from 1) and the number that seeds it."""

    fold: int
    seed: int

    def __str__(self) -> str:
        return f"fold{self.fold}-seed{self.seed}"


@dataclass(frozen=True, eq=False)
class Plan:
    """Everything that decides the result of a training. `cut_queries` are those that the model reads only the
    beginning of, `repeated` those that ask in the same words as one before them."""

    model: type[Network]
    network: NetworkSettings
    settings: TrainSettings
    backbone: Checkpoint
    collection: Collection
    material: Material
    splits: tuple[Split, ...]
    seeds: tuple[int, ...]
    ingredients: Ingredients
    judged: Judged
    cut_queries: tuple[str, ...] = ()
    repeated: tuple[str, ...] = ()

    @property
    def jobs(self) -> list[Job]:
        return [Job(fold, seed) for fold in range(1, len(self.splits) + 1) for seed in self.seeds]

    def pairs(self, fold: int) -> GradedPairs:
        """The pairs that a fold learns from."""
        return self._pairs[fold - 1]

    @cached_property
    def _pairs(self) -> list[GradedPairs]:
        how = self.settings
        return [
            GradedPairs.of(self.material, split.train, how.negatives, how.positives, how.unfound)
            for split in self.splits
        ]

    def to_choose_by(self, fold: int) -> Candidates:
        """What is scored of a fold's validation queries, before the first epoch and after each."""
        depth, validation = self.settings.validation_depth, self.splits[fold - 1].validation
        first = {qid: self.material.candidates[qid][:depth] for qid in validation}
        return Candidates.of(replace(self.material, candidates=first), validation)

    def steps(self, fold: int) -> int:
        """Steps of a fold's job, should it not stop early."""
        return self.pairs(fold).steps(self.settings.batch) * self.settings.epochs

    @property
    def smallest_part(self) -> int:
        """The fewest pairs that are ever read together in training."""
        how = self.settings
        return min(pairs.smallest_part(how.batch, how.accumulate) for pairs in self._pairs)

    def new_network(self, seed: int) -> Network:
        """The untrained network; the seed decides what starts anew."""
        with seeded(seed):
            return self.model.of(self.network, self.ingredients)

    @property
    def all_settings(self) -> AllSettings:
        """Every setting with its value, given or default."""
        return AllSettings(asdict(self.network), self.settings)


class Basis(NamedTuple):
    """What plans of different models stand on together."""

    ingredients: Ingredients
    material: Material

    @classmethod
    def of(cls, judged: Judged, first: Run, backbone: str, settings: TrainSettings, k: int) -> Basis:
        ingredients = Ingredients(backbone_checkpoint(backbone), judged.collection)
        material = Material.of(judged.collection, first, k=k, positive=settings.positive, relevant=False)
        return cls(ingredients, material)


def plan_training(
    model: str,
    backbone: str,
    judged: Judged,
    first: Run,
    values: Mapping[str, Any],
    *,
    folds: int | None = None,
    seeds: Sequence[int] = (0,),
    k: int = 100,
    queries: int | None = None,
    names: Iterable[str] = (),
    basis: Basis | None = None,
) -> Plan:
    """Trains `model` on `backbone`, in folds of the judged queries or on the others than the test's.

    `values` are settings of the model and of the training by name; `first` has the candidates, k per query;
    `queries` takes only the first so many (of those to learn from, where test queries are given); the first seed
    decides the folds. `basis` is what other plans of the same collection, backbone and candidates stand on.
    """
    kind = model_class(model)
    network, settings = settled(kind, values, names)
    ingredients, material = basis or Basis.of(judged, first, backbone, settings, k)
    with seeded(seeds[0]):
        built = kind.of(network, ingredients)  # what does not fit the backbone or a file is refused here
    network = fitted_length(network, built, asked="max_length" in values)
    splits = _splits(judged, material, folds, seeds[0], queries)
    found = Plan(
        kind, network, settings, ingredients.checkpoint, judged.collection, material, splits, tuple(seeds),
        ingredients, judged, cut_queries(built, material), repeated(material.queries),
    )  # fmt: skip
    check_splits(found)
    check_parts(found, built)
    return found


def cut_queries(built: Network, material: Material) -> tuple[str, ...]:
    """Queries that are too long for the half of a sequence that a query may take. Word models read them whole."""
    if not isinstance(built, TransformerNetwork):
        return ()
    return tuple(qid for qid, text in material.queries.items() if built.chunker.cut_query(text) != text)


def backbone_checkpoint(name: str) -> Checkpoint:
    """The checkpoint of a backbone, without what it says of how it is used as a ranker."""
    if name == "bm25":
        raise UserError("bm25 is not a backbone", todo="give a BERT-family checkpoint, such as bi-minilm-l6")
    found = replace(find_checkpoint(name), settings={})
    check_links(found.folder, is_tokenizer_file)  # its tokenizer will be copied, which must not fail in the end
    return found


def fitted_length(settings: NetworkSettings, built: Network, asked: bool) -> NetworkSettings:
    """The settings with a max_length that the backbone's positions allow: the default is cut to it, a number that
    was asked for is refused."""
    if not isinstance(built, TransformerNetwork):
        return settings
    longest = built.backbone.pieces.max_length
    if settings.max_length <= longest:
        return settings
    if asked:
        name = built.backbone.checkpoint.name
        raise UserError(
            f"max_length is {settings.max_length}, and {name} has positions for {longest} tokens",
            todo=f"set max_length to {longest} or less; longer documents are read in chunks",
        )
    return replace(settings, max_length=longest)


def _splits(
    judged: Judged, material: Material, folds: int | None, seed: int, queries: int | None
) -> tuple[Split, ...]:
    """Queries in the same words are never on two sides."""
    parts = _given_splits(judged, material, folds, seed, queries)
    return tuple(split.unrepeated(material.queries) for split in parts)


def _given_splits(
    judged: Judged, material: Material, folds: int | None, seed: int, queries: int | None
) -> list[Split]:
    if judged.test is None:
        chosen = islice(material.queries, queries)
        return fold_queries(chosen, FOLDS if folds is None else folds, seed, material.name)
    if folds not in (None, 1):
        raise UserError(
            f"{folds} folds, with test queries given",
            todo="leave folds out, or name one set of judgements to split: FOLDER#train",
        )
    return [judged.split(material.queries, seed, queries, material.name)]


#: Pairs that are read together where mutual information is estimated: it compares those of different queries.
LEAST_FOR_CRITICS = 2


def check_parts(plan: Plan, built: Network) -> None:
    """Raises where critics would never see two queries side by side."""
    if built.critics is not None and plan.smallest_part < LEAST_FOR_CRITICS:
        raise UserError(
            f"{plan.smallest_part} pair read at a time has nothing to estimate mutual information from",
            where=plan.material.name,
            todo="use a larger batch, a smaller accumulate, or information=none",
        )


def check_splits(plan: Plan) -> None:
    """Raises for a fold that has no pair to learn from, nothing relevant to find among its candidates, or nothing
    to choose an epoch by."""
    for number, split in enumerate(plan.splits, start=1):
        parts = {"training": split.train, "validation": split.validation, "test": split.test}
        if plan.settings.unfound:  # what is relevant need be no candidate there
            del parts["training"]
        for part, qids in parts.items():
            if not any(_has_relevant(plan.material, qid) for qid in qids):
                raise UserError(
                    f"the {part} queries of fold {number} have no relevant document among their candidates",
                    where=plan.material.name,
                    todo="give a first stage that finds some (run, depth), other folds, or another seed",
                )
        if not plan.pairs(number).queries:
            raise UserError(
                f"the training queries of fold {number} have no pair of a better and a worse document",
                where=plan.material.name,
                todo="judgements of a lower grade, or more candidates (depth), are needed",
            )
        if not _can_choose(plan.to_choose_by(number), plan.settings.select):
            raise UserError(
                f"every order of the validation candidates of fold {number} has the same {plan.settings.select}",
                where=plan.material.name,
                todo="choose the epoch by another measure (select), or more candidates (depth, validation_depth)",
            )


def _has_relevant(material: Material, qid: str) -> bool:
    positive = set(material.positives[qid])
    return any(row.docno in positive for row in material.candidates[qid])


def _can_choose(candidates: Candidates, measure: str) -> bool:
    """Whether the best order of the candidates has another value than the worst."""
    grades = candidates.grades()
    best, worst = (candidates.values([sign * grade for grade in grades], [measure]) for sign in (1, -1))
    return best != worst
