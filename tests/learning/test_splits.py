"""Queries are parted without overlap, the same way each time, or not at all when they are too few."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from whyrank.errors import UserError
from whyrank.learning.splits import Split, split_queries


def test_ten_queries_are_six_to_learn_from_two_to_choose_by_two_to_test_on():
    split = split_queries(map(str, range(10)))
    assert [len(qids) for _, qids in split] == [6, 2, 2]


@given(some.sets(some.text(min_size=1, max_size=4), min_size=10, max_size=60), some.integers())
def test_every_query_is_in_one_part_and_the_parts_are_60_20_20(qids, seed):
    split = split_queries(qids, seed)
    assert sorted([*split.train, *split.validation, *split.test]) == sorted(qids)
    assert len(split.validation) == len(split.test) == int(0.2 * len(qids) + 1e-9)


def test_order_does_not_matter_and_the_seed_does():
    qids = [f"q{i}" for i in range(40)]
    assert split_queries(qids, 1) == split_queries(reversed(qids), 1)
    assert split_queries(qids, 1) != split_queries(qids, 2)


def test_too_few_queries_are_refused_with_how_many_there_are_and_are_needed():
    with pytest.raises(UserError, match=r"news: 9 judged queries cannot be split; 10 are needed"):
        split_queries(map(str, range(9)), where="news")


def test_a_query_in_two_parts_is_caught():
    with pytest.raises(AssertionError, match="two parts"):
        Split(("a", "b"), ("b",), ("c",))
