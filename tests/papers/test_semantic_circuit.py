"""The study of the semantic circuit: its plan, its verdicts, and the whole of it on a real cross-encoder."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import typer

from tests.circuits.made import edge, made_circuit
from whyrank.axioms.api import PairArguments, pairs
from whyrank.cli.app import app
from whyrank.cli.caller import terminal
from whyrank.collections.demo import open_demo
from whyrank.core.errors import UserError
from whyrank.evaluation.interval import Interval
from whyrank.interventions.api import patch
from whyrank.interventions.options import PatchArguments
from whyrank.pages.findings import AGREES, DIFFERS, OPEN, Finding
from whyrank.pages.page import Report
from whyrank.papers.api import study
from whyrank.papers.rare_words import rare_words
from whyrank.papers.semantic_circuit.study import StudySizes, stages
from whyrank.papers.study import Stage

SMALL = StudySizes(
    to_logits=12, to_heads=4, activation=2, counting=1, length=2, randoms=1, max_length=48, two_tokens=2,
    suppress=1, suppress_k=3, samples=3, queries=12,
)  # fmt: skip


def run_small(ranker, collection, out, sizes=SMALL, **options):
    return study(
        "semantic-circuit", ranker=ranker, collection=collection, out=out, sizes=sizes, caller=terminal(),
        **options,
    )  # fmt: skip


def test_a_stage_says_the_command_that_does_the_same():
    stage = Stage("x", "X", patch, Path("run"), {
        "ranker": "ce", "pairs": [Path("a"), Path("b")], "first": 3, "skip": True, "compare": None,
        "max_length": lambda: 96,
    })  # fmt: skip
    said = "whyrank patch --ranker ce --pairs a --pairs b --first 3 --skip --max-length 96 -o run"
    assert stage.resolved().command == said


def test_the_plan_names_arguments_that_the_commands_have():
    from inspect import signature

    plan = stages("ce", "demo", Path("run"), StudySizes(), terms=Path("t"), extras=("finetune",))
    commands = typer.main.get_command(app).commands
    for stage in plan:
        parameters = signature(stage.verb).parameters
        more = (
            PairArguments.__annotations__
            if stage.verb is pairs
            else PatchArguments.__annotations__
            if stage.verb is patch
            else {}
        )
        assert set(stage.arguments) <= {*parameters, *more}, stage.name
        _, name, *words = replace(stage, arguments={**stage.arguments, "head": None}).command.split()
        flags = {flag for one in commands[name].params for flag in one.opts}
        assert {word for word in words if word.startswith("-")} <= flags, f"the command of {stage.name}"
    sizes = {stage.name: stage.arguments for stage in plan}
    assert sizes["circuit"]["pairs_to_logits"] >= 500 and sizes["circuit"]["pairs_to_heads"] >= 100
    with pytest.raises(UserError, match="no stage 'dance'"):
        stages("ce", "demo", Path("run"), StudySizes(), terms=Path("t"), extras=("dance",))


def test_numbers_agree_when_the_papers_is_in_our_interval():
    assert Finding.number("r", 0.5, 0.52, Interval(0.45, 0.6), "9").verdict == AGREES
    lower = Finding.number("r", 0.5, 0.3, Interval(0.2, 0.4), "9")
    assert lower.verdict == DIFFERS and "lower" in lower.why
    assert Finding.number("r", 0.5, None, Interval.none("not defined"), "9").verdict == OPEN
    assert Finding.number("r", 0.5, 0.5, Interval.none("too few queries"), "1").judged == "–: no interval"


def test_sets_of_heads_are_told_apart():
    found = Finding.heads("heads", ["10.1", "10.4"], ["10.1", "9.3"], "9")
    assert found.verdict == DIFFERS and "1 of the paper's 2" in found.why
    assert "not: 10.4" in found.why and "more: 9.3" in found.why
    assert Finding.heads("heads", ["10.1"], ["10.1"], "9").verdict == AGREES


def test_the_leading_head_is_the_scoring_head_with_the_largest_share():
    rows = [(0, "L10.H4", 0.1), (0, "L10.H1", -0.3), (0, "L9.H9", 0.9), (1, "L10.H4", 0.8)]
    edges = tuple(edge(sender, share, step) for step, sender, share in rows)
    assert made_circuit(roles={"scoring": ("L10.H1", "L10.H4")}, edges=edges).leading_head() == "L10.H1"
    assert made_circuit(roles={"scoring": ()}, edges=edges).leading_head() is None


def test_a_report_holds_another(tmp_path):
    inner = Report("Inner", "lead")
    inner.heading("A part")
    inner.paragraph("said & done")
    outer = Report("Outer", "lead")
    outer.heading("First")
    outer.include(inner.write(tmp_path / "inner.html", {"command": "whyrank inner"}))
    page = outer.write(tmp_path / "outer.html", {"command": "whyrank outer"}).read_text()
    assert "<h3>A part</h3><p>said &amp; done</p>" in page and "whyrank inner" not in page
    assert page.count("<h1>") == 1 and page.count('id="section-1"') == 1


def test_rare_words_are_rare_and_in_no_query(tmp_path, real):
    tokenizer = real("ce-minilm-l12").pieces.tokenizer
    path = rare_words(tmp_path / "words.txt", open_demo(), tokenizer)
    words = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    queries = " ".join(open_demo().queries.values()).lower()
    assert len(words) >= 5 and not [word for word in words if f" {word} " in f" {queries} "]
    before = path.read_text()
    assert rare_words(path, open_demo(), tokenizer).read_text() == before


@pytest.mark.slow
def test_the_whole_study(tmp_path, real, capfd):
    real("ce-minilm-l12")
    run_small("ce-minilm-l12", "demo", tmp_path / "run")
    found = json.loads((tmp_path / "run" / "study.json").read_text())
    stages_run = found["stages"]
    assert [stage["name"] for stage in stages_run][-2:] == ["semantic-bm", "semantic-bm-paper"]
    whats = [row["what"] for row in found["findings"]]
    for word in ("logits", "U0 against IDF", "doc1", "unsafe below safe", "SemanticBM"):
        assert any(word in what for what in whats), word
    page = (tmp_path / "run" / "report.html").read_text()
    assert "http" not in page.replace("http://www.w3.org", "").replace("https://matplotlib.org", "").replace(
        "http://purl.org", "").replace("http://creativecommons.org", ""), "a report needs no network"  # fmt: skip
    capfd.readouterr()
    run_small("ce-minilm-l12", "demo", tmp_path / "run")
    assert capfd.readouterr().err.count("done before") == len(stages_run)
