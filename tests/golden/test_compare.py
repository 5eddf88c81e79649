"""The comparison sees what has changed, and nothing else."""

from copy import deepcopy

import pytest

from tests.golden.compare import differences
from tests.golden.digest import Digest

FROZEN = Digest(
    tables={"rows.parquet": {"pair": ["p1", "p2"], "effect": [0.25, -0.5], "(rows)": [2]}},
    runs={"run.trec": {"q1 d1": 3.0, "q1 d2": 2.0, "q2 d1": 1.0}},
    numbers={"a.json": {"share": 0.125, "again": 0.125, "p": 0.75}},
    counts=[2, 7],
    names=["L1.H2.z", "q1"],
    reports=["report.html"],
)


def test_other_shapes_and_files_and_more_numbers_are_no_difference():
    present = deepcopy(FROZEN)
    present.numbers = {"b.json": {"share.value": 0.1250001, "p": 0.75, "low": 0.1}}
    present.tables["rows.parquet"]["more"] = [1, 2]
    assert not list(differences(FROZEN, present))


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (lambda one: one.numbers["a.json"].update(p=0.76), "a.json: p was 0.75, which is gone"),
        (lambda one: one.tables["rows.parquet"]["effect"].reverse(), "column effect: 2 of 2 values differ"),
        (lambda one: one.tables["rows.parquet"].pop("pair"), "no column pair"),
        (lambda one: one.tables.clear(), "rows.parquet is not written"),
        (lambda one: one.runs["run.trec"].update({"q1 d2": 2.1}), "q1 d2 had 2.0, has 2.1"),
        (lambda one: one.runs["run.trec"].pop("q2 d1"), "q2 d1 is gone"),
        (lambda one: one.counts.remove(7), "count 7"),
        (lambda one: one.names.remove("q1"), "name q1"),
        (lambda one: one.reports.clear(), "report.html is not written"),
    ],
)
def test_a_change_is_one_line_that_says_where(change, found):
    present = deepcopy(FROZEN)
    change(present)
    (line,) = differences(FROZEN, present)
    assert found in line


def test_a_run_is_in_the_order_of_its_scores():
    present = deepcopy(FROZEN)
    present.runs["run.trec"] = {"q1 d2": 2.0, "q1 d1": 3.0, "q2 d1": 1.0}
    assert [*differences(FROZEN, present)] == ["run.trec: q1 d1 is below q1 d2 though its score is higher"]
