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

    def groups(
        self, qids: np.ndarray, lengths: np.ndarray, seed: int, strata: np.ndarray | None = None
    ) -> list[Group]:
        """The groups of samples, each split in a training and a test part; queries are split within each of the
        `strata`, which say whose a sample is."""
        known = sorted(set(lengths.tolist())) if self.by_position else [None]
        rows = {n: np.flatnonzero(lengths == n) if n is not None else np.arange(len(lengths)) for n in known}
        generator = np.random.default_rng(seed)

        def split(mine: np.ndarray) -> np.ndarray:
            if self.split == "pair":
                return split_by_pair(qids[mine], generator)
            if strata is None:
                return split_by_query(qids[mine], generator)
            return split_within(qids[mine], strata[mine], generator)

        return [
            Group(length, mine, split(mine))
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


def by_length_protocol(least: int = LEAST_SAMPLES) -> Protocol:
    """The paper's regressions (Appendix G), one per query length, but split by query: so a query of the test part
    has all its documents there, as measures by query need."""
    return Protocol("by_length", by_position=True, split="query", sep=True, least=least)


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


def split_within(qids: np.ndarray, strata: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """The same within each stratum: the queries of one after the other's in a drawn order, of which every fifth is
    taken; so each has a fifth of its queries in the test part, give or take one."""
    order = np.concatenate(
        [generator.permutation(sorted(set(qids[strata == one].tolist()))) for one in sorted(set(strata.tolist()))]
    )
    require_queries(len(order))
    every = round(1 / TEST_SHARE)
    return np.isin(qids, order[every // 2 :: every])


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
