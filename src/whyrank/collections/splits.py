"""The splits of a collection: which judgements are to learn from, to choose by and to test on.

A BEIR folder says so by its files, `qrels/train.tsv`, `qrels/dev.tsv` and `qrels/test.tsv`. Whoever measures takes
`test`; whoever learns takes `train`, chooses by `dev`, and looks at `test` once, at the end.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from whyrank.collections.records import Qrels, Queries

#: In the order they are used in.
TRAIN, DEV, TEST = "train", "dev", "test"
#: The split that is measured on when none is named: the first of these that is there.
MEASURED = (TEST, DEV, TRAIN)


@dataclass(frozen=True, eq=False)
class JudgedSplit:
    """One split: its name, the file it is from, its judgements and the texts of the queries they are for."""

    name: str
    source: str
    queries: Queries
    qrels: Qrels

    def __str__(self) -> str:
        """`qrels/test.tsv (300 queries, 339 judgements)`."""
        return f"{self.source} ({counts(self.qrels, self.qrels)})"


def counts(qrels: Qrels, qids: Iterable[str]) -> str:
    """`300 queries, 339 judgements`: of these queries."""
    chosen = [qid for qid in qids if qid in qrels]
    judgements = sum(len(qrels[qid]) for qid in chosen)
    return (
        f"{len(chosen)} quer{'y' if len(chosen) == 1 else 'ies'}, {judgements} judgement{'s' * (judgements != 1)}"
    )
