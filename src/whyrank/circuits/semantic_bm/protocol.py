"""How samples are split and grouped before a regression: ours, and the paper's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from whyrank.core.errors import UserError

TEST_SHARE = 0.2
#: Queries that a split by query needs: 8 to learn from, 2 to test on.
LEAST_QUERIES = 10
#: The paper's: a query length has a regression of its own where it has more samples than this.
LEAST_SAMPLES = 500


@dataclass(frozen=True)
class Protocol:
    """Whether positions share coefficients, what is split, and whether the final [SEP] counts as document.

    With coefficients `by_position` there is one regression for each number of query tokens that more than `least`
    samples have; otherwise one for all. A split by `pair` lets the documents of one query stand on both sides.
    """

    name: str
    by_position: bool = False
    split: str = "query"
    sep: bool = False
    least: int = 0

    def groups(self, qids: np.ndarray, lengths: np.ndarray, seed: int) -> list[Group]:
        """The groups of samples, each split in a training and a test part."""
        known = sorted(set(lengths.tolist())) if self.by_position else [None]
        rows = {n: np.flatnonzero(lengths == n) if n is not None else np.arange(len(lengths)) for n in known}
        generator = np.random.default_rng(seed)
        split = split_by_query if self.split == "query" else split_by_pair
        return [
            Group(length, mine, split(qids[mine], generator))
            for length, mine in rows.items()
            if length is None or (len(mine) > self.least and _can_split(self.split, qids[mine]))
        ]


@dataclass(frozen=True, eq=False)
class Group:
    """The samples of one regression: `rows` of all samples, of which `test` [len(rows)] marks the test part."""

    length: int | None
    rows: np.ndarray
    test: np.ndarray

    @property
    def trained(self) -> np.ndarray:
        """The samples of the training part."""
        return self.rows[~self.test]

    @property
    def tested(self) -> np.ndarray:
        return self.rows[self.test]


def default_protocol(sep: bool = False) -> Protocol:
    """Coefficients shared over positions, split by query; [SEP] is no part of the document."""
    return Protocol("default", sep=sep)


def paper_protocol(least: int = LEAST_SAMPLES) -> Protocol:
    """As the paper's code: a coefficient for each position, one regression per query length, split by pair, [SEP]
    in."""
    return Protocol("paper", by_position=True, split="pair", sep=True, least=least)


def split_by_query(qids: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Which samples are the test part: all those of a fifth of the queries, drawn."""
    names = np.array(sorted(set(qids.tolist())))
    require_queries(len(names))
    drawn = generator.permutation(names)[: max(2, round(TEST_SHARE * len(names)))]
    test = np.isin(qids, drawn)
    assert not set(qids[test]) & set(qids[~test]), "no query on both sides"
    return test


def split_by_pair(qids: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Which samples are the test part: a fifth of all, drawn whatever their query."""
    test = np.zeros(len(qids), dtype=bool)
    test[generator.permutation(len(qids))[: round(TEST_SHARE * len(qids))]] = True
    return test


def require_queries(count: int, where: str | None = None) -> None:
    """Raises when there are too few queries to split."""
    if count < LEAST_QUERIES:
        raise UserError(
            f"{count} queries with documents are too few for a split",
            where=where,
            todo=f"at least {LEAST_QUERIES} are needed: 8 to fit, 2 to test",
        )


def _can_split(split: str, qids: Sequence[str] | np.ndarray) -> bool:
    """A group needs two samples on each side, and enough queries where they are split."""
    return len(set(qids)) >= LEAST_QUERIES if split == "query" else len(qids) >= LEAST_QUERIES
