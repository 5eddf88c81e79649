"""Queries are parted without overlap, the same way each time, or not at all when they are too few."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from whyrank.core.errors import UserError
from whyrank.learning.splits import Split, fold_queries, hold_out, repeated, split_queries


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


def test_a_query_in_the_words_of_one_that_is_tested_is_neither_learned_from_nor_chosen_by():
    asked = {
        "a": "Red cats?",
        "b": "blue dogs",
        "c": "red CATS",
        "d": "red cats",
        "e": "blue dogs!",
        "f": "?",
        "g": "!",
    }
    split = Split(train=("a", "b", "f"), validation=("c", "e", "g"), test=("d",)).unrepeated(asked)
    assert split == Split(train=("f",), validation=("e", "g"), test=("d",))
    assert repeated(asked) == ("c", "d", "e"), "what has no words is itself"
    whole = Split(("a",), ("b",), ("f",))
    assert whole.unrepeated(asked) == whole


def test_folds_part_all_queries_and_test_each_once():
    qids = [f"q{i}" for i in range(23)]
    folds = fold_queries(qids, 5, seed=1)
    assert sorted(qid for fold in folds for qid in fold.test) == sorted(qids)
    for number, fold in enumerate(folds):
        assert set(fold.train) | set(fold.validation) | set(fold.test) == set(qids)
        assert len(fold.train) + len(fold.validation) + len(fold.test) == len(qids)
        assert set(fold.validation) == set(folds[(number + 1) % 5].test), "the next fold validates"
        assert 13 <= len(fold.train) <= 15
    assert fold_queries(reversed(qids), 5, seed=1) == folds
    assert fold_queries(qids, 5, seed=2) != folds
    assert fold_queries(qids, 1, seed=1) == [split_queries(qids, 1)]


def test_too_few_queries_or_folds_are_refused():
    with pytest.raises(UserError, match="9 judged queries cannot make 5 folds; 10 are needed"):
        fold_queries([f"q{i}" for i in range(9)], 5)
    with pytest.raises(UserError, match=r"2 folds; give 1 \(one split\) or 3"):
        fold_queries([f"q{i}" for i in range(90)], 2)


def test_given_test_queries_are_held_out():
    qids = [f"q{i}" for i in range(30)]
    split = hold_out(qids, ["q3", "q7"], seed=0)
    assert split.test == ("q3", "q7")
    assert len(split.validation) == 5 and len(split.train) == 23
    assert hold_out(reversed(qids), ["q3", "q7"], seed=0) == split
    with pytest.raises(UserError, match="8 queries to learn from and 2 to test on"):
        hold_out(qids[:10], ["q3", "q7"])
