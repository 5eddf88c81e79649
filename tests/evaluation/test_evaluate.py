"""A table of runs: means, rows, comparisons with the first, and the files they are written to."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pandas as pd
import pytest

from whyrank.core.errors import UserError
from whyrank.evaluation import Evaluation, evaluate, holm, paired_t_test, randomisation_test
from whyrank.evaluation.estimate import Estimate

QRELS = {f"q{i}": {"a": 1, "b": 2} for i in range(6)}
FIRST = {f"q{i}": {"x": 3.0, "a": 2.0, "b": 1.0} for i in range(6)}
SECOND = {f"q{i}": {"x": 0.5 * i, "a": 2.0, "b": 1.0} for i in range(6)}
THIRD = {**FIRST, "q0": {"b": 1.0}, "q9": {"b": 1.0}}


def test_runs_are_compared_with_the_first_and_corrected_over_the_whole_table() -> None:
    result = evaluate({"bm25": FIRST, "two": SECOND, "three": THIRD}, QRELS, ["AP", "RR"], seed=1)
    assert [(row.run, row.baseline, row.measure) for row in result.comparisons] == [
        ("two", "bm25", "AP"),
        ("two", "bm25", "RR"),
        ("three", "bm25", "AP"),
        ("three", "bm25", "RR"),
    ]
    values = {(row.run, row.measure, row.qid): row.value for row in result.rows}
    columns = {key: [values[(*key, qid)] for qid in QRELS] for key in {k[:2] for k in values}}
    pairs = [(columns[row.run, row.measure], columns["bm25", row.measure]) for row in result.comparisons]
    t, drawn = (
        [paired_t_test(*pair).p for pair in pairs],
        [randomisation_test(*pair, seed=1).p for pair in pairs],
    )
    assert [row.t_test.p for row in result.comparisons] == t
    assert [row.t_test.p_holm for row in result.comparisons] == holm(t)
    assert [row.randomisation_p for row in result.comparisons] == drawn
    assert [row.randomisation_p_holm for row in result.comparisons] == holm(drawn)
    for row in result.comparisons:
        assert row.t_test.difference.value == pytest.approx(
            result.means[row.run][row.measure] - result.means["bm25"][row.measure]
        )


def test_queries_without_judgements_are_counted() -> None:
    result = evaluate({"bm25": FIRST, "three": THIRD}, QRELS, ["AP"])
    assert result.queries == 6
    assert [(run.name, run.unjudged) for run in result.runs] == [("bm25", 0), ("three", 1)]


def test_one_run_has_means_and_no_comparison() -> None:
    result = evaluate({"bm25": FIRST}, QRELS, ["RR"])
    assert (result.means, result.comparisons) == ({"bm25": {"RR": 0.5}}, ())


def test_it_is_written_as_json_and_parquet_that_read_back(tmp_path: Path) -> None:
    result = evaluate({"bm25": FIRST, "two": SECOND}, QRELS, ["AP", "RR"])
    evaluate({"bm25": FIRST, "two": SECOND}, QRELS, ["AP", "RR"], out=tmp_path / "run")
    written = json.loads((tmp_path / "run" / "evaluation.json").read_text())
    assert written == result.to_json()
    jsonschema.validate(written, Evaluation.schema())
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "run" / "per_query.parquet"), result.to_pandas())
    assert list(result.to_pandas().columns) == ["run", "qid", "measure", "value"]
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == [
        "evaluation.json",
        "manifest.json",
        "per_query.parquet",
    ]
    assert Evaluation.read(tmp_path / "run") == result
    assert evaluate({"bm25": FIRST, "two": SECOND}, QRELS, ["AP", "RR"], out=tmp_path / "run") == result


def test_means_have_the_intervals_of_their_queries_and_a_plot() -> None:
    result = evaluate({"bm25": FIRST, "two": SECOND}, QRELS, "AP")
    values = [row.value for row in result.rows if row.run == "two"]
    assert result.runs[1].means["AP"] == Estimate.mean(values, list(QRELS), 0)
    assert [tick.get_text() for tick in result.plot().get_yticklabels()] == ["bm25", "two"]
    assert result.verdict()[0].startswith("bm25 has a mean AP of 0.583") and "two: " in repr(result)
    assert "<svg" in result._repr_html_()


def test_runs_and_judgements_come_from_files_and_folders(tmp_path: Path) -> None:
    (tmp_path / "one.trec").write_text("q0 Q0 a 1 2.0 one\nq0 Q0 b 2 1.0 one\n")
    (tmp_path / "qrels").write_text("q0 0 b 1\n")
    result = evaluate(tmp_path / "one.trec", tmp_path / "qrels", "RR")
    assert result.means == {"one.trec": {"RR": 0.5}}


@pytest.mark.parametrize("queries", [1, 2, 5])
def test_too_few_queries_have_no_p_value(tmp_path: Path, queries: int) -> None:
    qrels = dict(list(QRELS.items())[:queries])
    result = evaluate({"bm25": FIRST, "two": SECOND}, qrels, ["AP"])
    (row,) = result.to_json()["comparisons"]
    assert row["t_test"]["p"] is None and row["randomisation_p"] is None
    assert row["t_test"]["difference"]["value"] is not None and row["t_test"]["difference"]["low"] is None
    assert row["t_test"]["p_holm"] is None and row["randomisation_p_holm"] is None
    assert "too few queries" in result.verdict()[1]
    result.save(tmp_path / "run")
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert manifest["command_name"] == "eval"
    assert manifest["command"] == "saved from Python: Evaluation.save(...)"


def test_nothing_to_evaluate_is_refused() -> None:
    with pytest.raises(UserError, match="nothing to evaluate"):
        evaluate({}, QRELS, ["AP"])
