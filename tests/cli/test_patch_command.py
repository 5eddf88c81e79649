"""`whyrank patch` from the outside: what it writes, how it goes on after a kill, what it refuses."""

import json
import os
import signal
import subprocess
import sys
import time

import jsonschema
import pandas as pd
import pytest

import whyrank as library
from tests.checkpoints import save
from tests.cli.run import one_line, whyrank, whyrank_here
from tests.interventions import small
from whyrank.axioms.api import make_pairs
from whyrank.axioms.make import Choices
from whyrank.axioms.pair import write_pairs
from whyrank.interventions.effects import COLUMNS
from whyrank.interventions.results import Effects

RANKER = "bi-minilm-l3"


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    """Six pairs of two variants each, as a file."""
    path = tmp_path_factory.mktemp("pairs") / "pairs.jsonl"
    made = make_pairs("TFC1:append,TFC1:prepend", "demo", [library.load(RANKER)], Choices(documents=6)).pairs
    write_pairs(path, made)
    return path


def check(folder):
    summary = json.loads((folder / "summary.json").read_text())
    jsonschema.validate(summary, Effects.schema())
    assert Effects.read(folder).to_json() == summary
    assert {"manifest.json", "effects.parquet", "pairs.parquet", "report.html"} <= {
        path.name for path in folder.iterdir()
    }
    assert not [path for path in folder.iterdir() if path.name.startswith(".")], "nothing half-done is left"
    return summary


@pytest.mark.parametrize(
    "how",
    [
        ["--sites", "blocks", "--by", "category", "--keep", "adherent"],
        ["--sites", "2.10,L1.mlp", "--by", "position", "--direction", "noise", "--side", "query"],
        ["--method", "path", "--to", "L2.H7.v,L2.H10.v", "--freeze-mlp"],
        ["--method", "attribution", "--check", "4", "--steps", "2"],
        ["--method", "ablation", "--ablate", "resample", "--sites", "0.1+1.2,L2.attn@cls"],
    ],
    ids=lambda how: " ".join(how),
)
def test_what_it_writes(pairs, tmp_path, how):
    done = whyrank("patch", "--ranker", RANKER, "--pairs", pairs, *how, "-o", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    summary = check(tmp_path / "run")
    frame = pd.read_parquet(tmp_path / "run" / "effects.parquet")
    assert list(frame.columns) == list(COLUMNS)
    assert frame["pair"].nunique() == 12 and len(frame) > 0
    assert summary["pairs"] <= 12 and summary["keep"]["pairs"] == 12
    page = (tmp_path / "run" / "report.html").read_text()
    assert "<svg" in page and 'src="http' not in page and 'href="http' not in page
    assert "report.html" in done.stderr


@pytest.mark.slow
def test_two_runs_are_compared(pairs, tmp_path):
    for name, more in (("a", []), ("b", ["--compare", tmp_path / "a"])):
        how = ["--method", "path", "--direction", "noise" if more else "denoise"]
        done = whyrank("patch", "--ranker", RANKER, "--pairs", pairs, *how, *more, "-o", tmp_path / name)
        assert done.returncode == 0, done.stderr
    compared = check(tmp_path / "b")["compared"]["correlation"]
    assert compared["sites"] == 36 and compared["pearson"]["low"] <= compared["pearson"]["value"]


def start(pairs, out):
    command = [sys.executable, "-m", "whyrank", "patch", "--ranker", RANKER, "--pairs", pairs, "--by", "category"]
    return subprocess.Popen([*map(str, command), "-o", str(out)], stderr=subprocess.PIPE, env={**os.environ})


@pytest.mark.slow
def test_killed_in_the_middle_it_goes_on_and_gives_the_same_rows(pairs, tmp_path):
    whole = whyrank("patch", "--ranker", RANKER, "--pairs", pairs, "--by", "category", "-o", tmp_path / "whole")
    assert whole.returncode == 0, whole.stderr
    running, out = start(pairs, tmp_path / "killed"), tmp_path / "killed"
    deadline = time.monotonic() + 120
    while not list(out.glob(".shards-*/activation/*.shard")) and time.monotonic() < deadline:
        time.sleep(0.01)
    running.send_signal(signal.SIGKILL)
    running.wait()
    (first, *_) = sorted(out.glob(".shards-*/activation/*.shard"))
    written = first.stat().st_mtime_ns
    assert not (out / "effects.parquet").exists()
    again = start(pairs, out)
    seen = set()
    while again.poll() is None:
        seen |= {path.stat().st_mtime_ns for path in out.glob(".shards-*/activation/00000.shard")}
        time.sleep(0.01)
    assert again.returncode == 0, again.stderr.read().decode()
    assert seen == {written}, "what was done is not done again"
    assert not list(out.glob(".*"))
    one, other = (pd.read_parquet(folder / "effects.parquet") for folder in (tmp_path / "whole", out))
    assert one.equals(other)


@pytest.mark.slow
def test_what_it_refuses(pairs, tmp_path):
    def refused(*how, out="x"):
        return one_line(whyrank("patch", "--ranker", RANKER, "--pairs", pairs, *how, "-o", tmp_path / out))

    assert "layers are 0 to 2" in refused("--sites", "L9.H0.z")
    assert "heads are 0 to 11" in refused("--sites", "1.12")
    assert "is not below any receiver" in refused("--method", "path", "--sites", "2.1", "--to", "L1.H0.v")
    assert "choose activation, path" in refused("--method", "magic")
    assert "denoise or noise" in refused("--direction", "up")
    assert "all or adherent" in refused("--keep", "none")
    assert "unknown engine" in refused("--engine", "ray://x")
    assert "summary.json: no such file" in refused("--compare", tmp_path)
    assert "document or query" not in refused("--sites", "L9.mlp", "--side", "query")
    assert not (tmp_path / "x").exists(), "nothing is left of what was refused"


@pytest.mark.slow
def test_pairs_that_do_not_align_are_named_by_file_and_line(tmp_path):
    lines = [
        {"id": "good", "query": "tea", "baseline": "water and a", "perturbed": "water and tea"},
        {"id": "bad", "query": "tea", "axiom": "LNC1", "baseline": "water", "perturbed": "water and much else"},
    ]
    path = tmp_path / "own.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)) + "\n", encoding="utf-8")
    command = ["patch", "--ranker", RANKER, "--pairs", path, "--sites", "0.1,1.2,2.3"]
    complaint = one_line(whyrank(*command, "-o", tmp_path / "run"))
    assert f"{path}:2" in complaint and "'bad'" in complaint and "(skip)" in complaint
    done = whyrank(*command, "--skip", "-o", tmp_path / "run")
    assert done.returncode == 0 and "dropped 1 pair (" in done.stderr
    assert check(tmp_path / "run")["pairs"] == 1
    assert "other inputs" in one_line(whyrank(*command, "--skip", "--seed", "5", "-o", tmp_path / "run"))


def test_json_goes_to_stdout_and_a_finished_run_is_read(tmp_path, capsys):
    ranker = save(tmp_path / "ce", head="AutoModelForSequenceClassification")
    write_pairs(tmp_path / "pairs.jsonl", small.pairs())
    command = ["patch", "--ranker", ranker, "--pairs", tmp_path / "pairs.jsonl", "-o", tmp_path / "run"]
    whyrank_here(*command)
    table = capsys.readouterr()
    assert "share of the gap" in table.out and "wrote summary.json" in table.err
    written = (tmp_path / "run" / "effects.parquet").stat().st_mtime_ns
    whyrank_here(*command, "--json")
    again = capsys.readouterr()
    assert json.loads(again.out) == check(tmp_path / "run")
    assert "holds this result already" in again.err
    assert (tmp_path / "run" / "effects.parquet").stat().st_mtime_ns == written
