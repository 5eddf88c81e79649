"""What a training used: of each part the file its judgements are from, how many queries, how many judgements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from whyrank.collections.splits import TEST
from whyrank.learning.splits import Split
from whyrank.learning.training.judgement_words import SAID
from whyrank.learning.training.judgements import Judged


@dataclass(frozen=True)
class PartUsed:
    """One part of a split: `train`, `validation` or `test`."""

    part: str
    source: str
    queries: int
    judgements: int

    def __str__(self) -> str:
        """`learned from: qrels/train.tsv, 809 queries, 919 judgements`."""
        return f"{SAID[self.part]}: {self.source}, {self.queries} queries, {self.judgements} judgements"


def parts_used(what: Judged, split: Split) -> tuple[PartUsed, ...]:
    """The parts of a split, counted."""
    qrels = what.collection.qrels
    return tuple(
        PartUsed(part, what.source(part), len(qids), sum(len(qrels[qid]) for qid in qids)) for part, qids in split
    )


def used_json(what: Judged, splits: Sequence[Split]) -> dict[str, Any]:
    """For train.json, finetune.json and the manifest: how the judgements were parted, and each fold's parts."""
    return {
        "how": how_parted(what, len(splits)),
        "folds": [[asdict(part) for part in parts_used(what, split)] for split in splits],
    }


def how_parted(what: Judged, folds: int) -> str:
    """One sentence about what is learned from and what is tested on."""
    if what.test is not None:
        parts = (f"{said} {what.source(part)}" for part, said in SAID.items())
        return f"judgements are {', '.join(parts)}"
    kind = "only test judgements" if what.collection.split == TEST else "one set of judgements"
    parted = "split by query: 60% to learn from, 20% to choose by, 20% to test on" if folds == 1 else (
        f"parted by query into {folds} folds, each tested by models that learned from others"
    )  # fmt: skip
    told = f"{what.collection.name} has {kind} ({what.collection.judged_by}), {parted}"
    return (
        f"{told}. A model has learned from queries of this file: measure it by the test queries of its fold only"
    )
