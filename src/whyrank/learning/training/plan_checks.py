"""What is refused of a planned training: folds that nothing can be learned from, tested on or chosen by."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whyrank.core.errors import UserError
from whyrank.learning.material import Material
from whyrank.learning.measured import Candidates
from whyrank.learning.models.network import Network

if TYPE_CHECKING:
    from whyrank.learning.training.plan import Plan

#: Pairs that are read together where mutual information is estimated: it compares those of different queries.
LEAST_FOR_CRITICS = 2


def check_parts(plan: Plan, built: Network) -> None:
    """Raises where critics would never see two queries side by side."""
    if built.critics is not None and plan.smallest_part < LEAST_FOR_CRITICS:
        raise UserError(
            f"{plan.smallest_part} pair read at a time has nothing to tell mutual information from",
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
                    todo="give a first stage that finds some (--run, -k), other folds, or another --seed",
                )
        if not plan.pairs(number).queries:
            raise UserError(
                f"the training queries of fold {number} have no relevant document with a worse one beside it",
                where=plan.material.name,
                todo="judgements of a lower grade, or more candidates (-k), are needed",
            )
        if not _can_choose(plan.to_choose_by(number), plan.settings.select):
            raise UserError(
                f"every order of the validation candidates of fold {number} has the same {plan.settings.select}",
                where=plan.material.name,
                todo="choose the epoch by another measure (select), or by more candidates (-k, validation_depth)",
            )


def _has_relevant(material: Material, qid: str) -> bool:
    positive = set(material.positives[qid])
    return any(row.docno in positive for row in material.candidates[qid])


def _can_choose(candidates: Candidates, measure: str) -> bool:
    """Whether the best order of the candidates has another value than the worst."""
    grades = candidates.grades()
    best, worst = (candidates.values([sign * grade for grade in grades], [measure]) for sign in (1, -1))
    return best != worst
