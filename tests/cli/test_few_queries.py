"""What commands say on the screen when there are too few queries: that, and no interval."""

import json

import pytest

from tests.checkpoints import save
from tests.cli.run import whyrank_here


@pytest.fixture
def ranker(tmp_path):
    return save(tmp_path / "ranker", head="AutoModelForSequenceClassification")


@pytest.fixture
def two(tmp_path):
    """Two pairs, of a query each."""
    lines = [
        {"id": "1", "query": "red cat", "baseline": "the dog sat on a mat", "perturbed": "the cat sat on a mat"},
        {"id": "2", "query": "blue house", "baseline": "the tree runs", "perturbed": "the house runs"},
    ]
    path = tmp_path / "two.jsonl"
    path.write_text("".join(json.dumps({"axiom": "TFC1", "qid": line["id"], **line}) + "\n" for line in lines))
    return path


def test_a_circuit_of_two_pairs(ranker, two, tmp_path, capsys):
    """It printed [.001, .001]."""
    small = [
        "--pairs-to-logits",
        "2",
        "--pairs-to-heads",
        "2",
        "--select",
        "gap",
        "--threshold",
        "relative=0.5",
        "--search-steps",
        "1",
    ]
    whyrank_here("circuit", "--ranker", ranker, "--pairs", two, *small, "-o", tmp_path / "run")
    captured = capsys.readouterr()
    assert "too few queries (2) for intervals: heads above the cut-off are kept, none is tested" in captured.err
    kept = next(line for line in captured.err.splitlines() if "the circuit alone keeps" in line)
    assert "(too few queries)" in kept and "[" not in kept
    edges = json.loads((tmp_path / "run" / "circuit.json").read_text())["edges"]
    assert edges and all(edge["share"]["low"] is None for edge in edges)


def test_a_patch_of_two_pairs(ranker, two, tmp_path, capsys):
    whyrank_here("patch", "--ranker", ranker, "--pairs", two, "-o", tmp_path / "run")
    shown = capsys.readouterr().out
    assert "too few queries" in shown and " to " not in shown.split("interval", 1)[1]


def test_an_audit_of_two_pairs(ranker, two, tmp_path, capsys):
    whyrank_here("audit", "--ranker", ranker, "--pairs", two, "--collection", "demo", "-o", tmp_path / "run")
    captured = capsys.readouterr()
    assert "too few queries for an interval or a p-value: TFC1 (2); give 6 or more" in captured.err
    assert "*" not in captured.out.split("Holm", 1)[1]


def test_an_evaluation_of_two_queries(tmp_path, capsys):
    (tmp_path / "qrels").write_text("q1 0 a 1\nq2 0 a 1\n")
    for name, first in (("one", "a"), ("two", "b")):
        second = "b" if first == "a" else "a"
        lines = [f"{q} Q0 {d} {i} {3 - i} x\n" for q in ("q1", "q2") for i, d in enumerate((first, second), 1)]
        (tmp_path / f"{name}.run").write_text("".join(lines))
    whyrank_here("eval", tmp_path / "one.run", tmp_path / "two.run", "--qrels", tmp_path / "qrels", "-m", "RR")
    assert capsys.readouterr().out.count("too few queries") == 3
