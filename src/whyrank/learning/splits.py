"""Queries split into those that are learned from, those that choose the model, and those it is tested on.

Split by query, never by pair: two pairs of one query are not independent, and a model that has seen one of them
in training has seen half of the other. A query that comes again in the same words, under another id, is the same.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from whyrank.core.errors import UserError
from whyrank.text.words import words

#: One query in so many is for validation, as many are for the test.
SHARE = 5
#: A fold to test on, one to validate on, and one to learn from.
LEAST_FOLDS = 3
#: Queries that a fold has at least.
PER_FOLD = 2
#: Six to learn from, two to choose by, two to test on.
LEAST = 10
#: What each part is for.
USES = {"train": "learn from", "validation": "choose by", "test": "test on"}


@dataclass(frozen=True)
class Split:
    """Query ids in three parts that have nothing in common."""

    train: tuple[str, ...]
    validation: tuple[str, ...]
    test: tuple[str, ...]

    def __post_init__(self) -> None:
        every = [*self.train, *self.validation, *self.test]
        assert len(set(every)) == len(every), "a query stands in two parts of a split"

    def __iter__(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """The parts by name."""
        return iter((("train", self.train), ("validation", self.validation), ("test", self.test)))

    def unrepeated(self, queries: Mapping[str, str]) -> Split:
        """The same without queries to choose by that ask in the words of one that is tested, and without queries
        to learn from that ask in the words of one that is tested or chosen by."""
        tested = {_asked(queries[qid]) for qid in self.test}
        validation = tuple(qid for qid in self.validation if _asked(queries[qid]) not in tested)
        other = tested | {_asked(queries[qid]) for qid in validation}
        return Split(tuple(qid for qid in self.train if _asked(queries[qid]) not in other), validation, self.test)


def repeated(queries: Mapping[str, str]) -> tuple[str, ...]:
    """The queries that ask in the same words as one before them."""
    first: dict[tuple[str, ...], str] = {}
    return tuple(qid for qid, text in queries.items() if first.setdefault(_asked(text), qid) != qid)


def _asked(text: str) -> tuple[str, ...]:
    """A query's words, or itself where it has none."""
    return tuple(words(text)) or (text,)


def fold_queries(qids: Iterable[str], folds: int, seed: int = 0, where: str | None = None) -> list[Split]:
    """Each query is tested once: a fold to test on, the next to validate on, the others to learn from. One fold is
    `split_queries`; the same queries, folds and seed give the same splits."""
    if folds == 1:
        return [split_queries(qids, seed, where)]
    if folds < LEAST_FOLDS:
        raise UserError(f"{folds} folds", todo=f"give 1 (one split) or {LEAST_FOLDS} and more")
    shuffled = sorted(set(qids))
    if len(shuffled) < PER_FOLD * folds:
        raise UserError(
            f"{len(shuffled)} judged quer{'y' if len(shuffled) == 1 else 'ies'} cannot make {folds} folds",
            where=where,
            todo=f"{PER_FOLD * folds} are needed",
        )
    random.Random(f"folds/{seed}").shuffle(shuffled)
    parts = [tuple(shuffled[number::folds]) for number in range(folds)]
    splits = [_with_test(parts, number) for number in range(folds)]
    assert sorted(qid for one in splits for qid in one.test) == sorted(shuffled), "a query is tested once"
    return splits


def _with_test(parts: list[tuple[str, ...]], number: int) -> Split:
    following = (number + 1) % len(parts)
    others = [qid for i, part in enumerate(parts) if i not in (number, following) for qid in part]
    return Split(train=tuple(others), validation=parts[following], test=parts[number])


def hold_out(qids: Iterable[str], test: Iterable[str], seed: int = 0, where: str | None = None) -> Split:
    """Test queries that are given; a fifth of the others to validate on, the rest to learn from."""
    tested = tuple(dict.fromkeys(test))
    others = sorted(set(qids) - set(tested))
    if not tested or len(others) < LEAST:
        raise UserError(
            f"{len(others)} queries to learn from and {len(tested)} to test on",
            where=where,
            todo=f"{LEAST} and 1 are needed",
        )
    random.Random(f"held out/{seed}").shuffle(others)
    held = len(others) // SHARE
    return Split(train=tuple(others[held:]), validation=tuple(others[:held]), test=tested)


def given_split(
    train: Iterable[str], validation: Iterable[str], test: Iterable[str], where: str | None = None
) -> Split:
    """Three parts that are given, as by the files of a collection; none of them is empty."""
    found = Split(*(tuple(dict.fromkeys(part)) for part in (train, validation, test)))
    if empty := [part for part, qids in found if not qids]:
        raise UserError(f"no judged query in the part to {USES[empty[0]]}", where=where, todo="judge some")
    return found


def split_queries(qids: Iterable[str], seed: int = 0, where: str | None = None) -> Split:
    """60% train, 20% validation, 20% test; the same queries and seed give the same split, in whatever order
    the queries come."""
    shuffled = sorted(set(qids))
    if len(shuffled) < LEAST:
        raise UserError(
            f"{len(shuffled)} judged quer{'y' if len(shuffled) == 1 else 'ies'} cannot be split",
            where=where,
            todo=f"{LEAST} are needed, each with a relevant document and candidates to rank: 6 to learn from, "
            "2 to choose the model by, 2 to test it on",
        )
    random.Random(f"split/{seed}").shuffle(shuffled)
    held = len(shuffled) // SHARE
    return Split(
        train=tuple(shuffled[2 * held :]), validation=tuple(shuffled[:held]), test=tuple(shuffled[held : 2 * held])
    )
