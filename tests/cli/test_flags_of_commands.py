"""Flags that mean the same on every command: --json, --device."""

import json
from pathlib import Path

import pytest

from tests.cli.run import whyrank_here
from whyrank.core.errors import UserError
from whyrank.papers.semantic_circuit.sizes import StudySizes
from whyrank.papers.semantic_circuit.study import stages


def test_what_is_fetched_is_listed_as_json_too(capfd):
    whyrank_here("get", "bm25", "demo", "--json")
    bm25, demo = json.loads(capfd.readouterr().out)["fetched"]
    assert bm25["name"] == "bm25" and bm25["folder"] is None
    assert demo == {"name": "demo", "what": "26 queries, 26 of them judged", "folder": None}


def test_the_demo_prints_its_evaluation_as_json(tmp_path, capfd):
    whyrank_here("demo", "--ranker", "bi-minilm-l3", "--json", "-o", tmp_path)
    printed = json.loads(capfd.readouterr().out)
    assert [one["name"] for one in printed["runs"]] == ["bm25", "bi-minilm-l3"]
    assert {"why.svg", "why.png", "manifest.json"} <= {path.name for path in tmp_path.iterdir()}


@pytest.mark.parametrize(
    "line",
    [
        ["demo", "--ranker", "bi-minilm-l3"],
        ["pairs", "--axiom", "TFC1", "--collection", "demo", "--ranker", "bi-minilm-l3"],
        ["study", "semantic-circuit", "--collection", "demo", "--quick"],
    ],
)
def test_the_device_reaches_the_model(line, tmp_path):
    with pytest.raises(UserError, match="nowhere"):
        whyrank_here(*line, "--device", "nowhere", "-o", tmp_path / "out")


def test_every_stage_of_a_study_that_opens_the_ranker_has_its_device():
    plan = stages("ce", "demo", Path("run"), StudySizes(), terms=Path("t"), extras=("finetune",), device="cuda:1")
    assert all(stage.arguments["device"] == "cuda:1" for stage in plan)
    assert all(
        "device" not in one.arguments for one in stages("ce", "demo", Path("run"), StudySizes(), terms=Path("t"))
    )
