"""`whyrank semantic-bm` from the outside: what it writes, how it goes on after a kill, what it refuses."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import jsonschema
import numpy as np
import pandas as pd
import pytest

from tests.checkpoints import save
from tests.circuits.tiny_search import tiny_collection
from tests.cli.run import one_line, whyrank
from tests.pages.inert import text_of
from whyrank.circuits.semantic_bm.api import semantic_bm
from whyrank.circuits.semantic_bm.results import SemanticBM
from whyrank.core.errors import UserError

HEADS = "0.3,L1.H1"


@pytest.fixture(scope="module")
def ranker(tmp_path_factory):
    return save(tmp_path_factory.mktemp("ranker"), "bert", "AutoModelForSequenceClassification")


def write_collection(folder, collection):
    folder.mkdir()
    grades = (
        (qid, "0", docno, str(grade)) for qid, own in collection.qrels.items() for docno, grade in own.items()
    )
    for name, rows in (("documents", collection.documents()), ("queries", collection.queries.items())):
        (folder / f"{name}.tsv").write_text("".join(f"{key}\t{text}\n" for key, text in rows), encoding="utf-8")
    (folder / "qrels.txt").write_text("".join(f"{' '.join(row)}\n" for row in grades), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def collection(tmp_path_factory):
    return write_collection(
        tmp_path_factory.mktemp("collection") / "tiny", tiny_collection(queries=16, documents=60)
    )


@pytest.fixture(scope="module")
def done(ranker, collection, tmp_path_factory):
    """One finished run, from a circuit's folder."""
    circuit = tmp_path_factory.mktemp("circuit")
    roles = {"matching": ["L0.H3", "L1.H1"], "scoring": ["L2.H0"], "contextualization": []}
    (circuit / "circuit.json").write_text(json.dumps({"roles": roles}), encoding="utf-8")
    out = tmp_path_factory.mktemp("runs") / "run"
    how = ["--circuit", circuit, "--depth", 8, "--min-samples", 20]
    finished = whyrank("semantic-bm", "--ranker", ranker, "--collection", collection, *how, "-o", out)
    assert finished.returncode == 0, finished.stderr
    return out, finished


def test_what_it_writes(done):
    out, finished = done
    assert {path.name for path in out.iterdir()} == {
        "manifest.json", "semantic_bm.json", "predictions.parquet", "report.html", "predicted.svg", "models.svg",
        "coefficients.svg",
    }  # fmt: skip
    summary = json.loads((out / "semantic_bm.json").read_text())
    jsonschema.validate(summary, SemanticBM.schema())
    assert summary["heads"] == ["L0.H3", "L1.H1"] and summary["queries"] == 16
    assert [protocol["name"] for protocol in summary["protocols"]] == ["default", "paper"]
    drawn = summary["protocols"][0]["random_heads"]["draws"]
    assert not {"L0.H3", "L1.H1", "L2.H0"} & {head for one in drawn for head in one["heads"]}
    frame = pd.read_parquet(out / "predictions.parquet")
    assert (frame["protocol"] == "default").sum() == summary["samples"]
    test = frame[(frame["protocol"] == "default") & (frame["split"] == "test")]
    r = np.corrcoef(test["cross_encoder"], test["semantic_bm"])[0, 1]
    assert r == pytest.approx(summary["protocols"][0]["models"][0]["pearson"]["value"])
    page = (out / "report.html").read_text()
    assert page.count("<svg") == 3 and 'src="http' not in page and "0.8157" in page and "278,194" in page
    assert "SemanticBM" in finished.stdout and "term by term" in finished.stdout and "intercept" in finished.stdout
    assert f"whyrank rank --ranker semantic-bm:{out}" in finished.stderr


def test_the_fitted_model_ranks(done, collection, tmp_path):
    out, _ = done
    ranked = whyrank(
        "rank", "--ranker", f"semantic-bm:{out}", "--collection", collection, "--depth", 8, "-o", tmp_path / "r"
    )
    assert ranked.returncode == 0, ranked.stderr
    frame = pd.read_parquet(out / "predictions.parquet")
    frame = frame[frame["protocol"] == "default"].set_index(["qid", "docno"])
    lines = [line.split() for line in (tmp_path / "r" / "run.trec").read_text().splitlines()]
    assert len(lines) == len(frame)
    for qid, _, docno, _, score, _ in lines:
        assert float(score) == pytest.approx(frame.loc[(qid, docno), "semantic_bm"], abs=1e-4)


def test_finished_work_is_read_and_saved_again(done, ranker, collection, tmp_path, monkeypatch):
    out, _ = done
    result = SemanticBM.read(out)
    assert result == SemanticBM.from_json(result.to_json()) and len(result.predictions) == len(result.to_pandas())
    monkeypatch.setattr("whyrank.circuits.semantic_bm.api.fit", lambda *a: pytest.fail("done again"))
    how = {"circuit": Path(result.circuit), "depth": 8, "min_samples": 20}
    assert semantic_bm(str(ranker), str(collection), out=out, **how) == result
    names = {path.name for path in result.save(tmp_path / "saved")}
    assert names | {"manifest.json"} == {path.name for path in out.iterdir()}
    assert SemanticBM.read(tmp_path / "saved").predictions.equals(result.predictions)
    first, second = result.verdict()
    assert "2 matching heads" in first and "random draws of other heads" in second
    page = (out / "report.html").read_text()
    assert "random draws of other heads" in text_of(page)
    assert page.index('class="verdict"') < page.index("<svg") < page.index("<table")
    assert len(result.plot().patches) == len(result.default.models) + 1


def start(ranker, collection, out):
    how = ["--ranker", ranker, "--collection", collection, "--heads", HEADS, "--depth", 20, "-o", out]
    command = [sys.executable, "-m", "whyrank", "semantic-bm", *how]
    return subprocess.Popen(
        [*map(str, command)], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, env={**os.environ}
    )


@pytest.mark.slow
def test_killed_in_the_middle_it_goes_on_and_gives_the_same_rows(ranker, collection, tmp_path):
    whole = start(ranker, collection, tmp_path / "whole")
    assert whole.wait(200) == 0, whole.stderr.read().decode()
    running, out = start(ranker, collection, tmp_path / "killed"), tmp_path / "killed"
    deadline = time.monotonic() + 120
    while not list(out.glob(".shards-*/*.shard")) and time.monotonic() < deadline and running.poll() is None:
        time.sleep(0.001)
    running.send_signal(signal.SIGKILL)
    running.wait()
    assert not (out / "manifest.json").exists()
    (first, *_) = sorted(out.glob(".shards-*/*.shard"))
    written = first.stat().st_mtime_ns
    again, seen = start(ranker, collection, out), set()
    while again.poll() is None:
        seen |= {path.stat().st_mtime_ns for path in out.glob(".shards-*/00000.shard")}
        time.sleep(0.005)
    assert again.returncode == 0, again.stderr.read().decode()
    assert seen == {written}, "what was done is not done again"
    assert not list(out.glob(".*"))
    one, other = (pd.read_parquet(folder / "predictions.parquet") for folder in (tmp_path / "whole", out))
    assert one.equals(other)
    refused = whyrank(
        "semantic-bm", "--ranker", ranker, "--collection", collection, "--heads", "0.1", "--depth", 20, "-o", out
    )
    assert "other inputs" in one_line(refused)


def test_too_few_queries_and_a_bi_encoder_are_refused_in_one_line(ranker, tmp_path):
    few = write_collection(tmp_path / "few", tiny_collection(queries=9))
    common = ["--collection", few, "--heads", HEADS, "-o", tmp_path / "x"]
    line = one_line(whyrank("semantic-bm", "--ranker", ranker, *common))
    assert "9 queries" in line and "at least 10 are needed" in line
    line = one_line(whyrank("semantic-bm", "--ranker", save(tmp_path / "bi"), *common))
    assert "not a cross-encoder (bi-encoder)" in line
    assert not (tmp_path / "x").exists(), "nothing is left of what was refused"


@pytest.mark.parametrize(
    ("how", "complaint"),
    [
        ({}, "no matching heads; give either heads (0.8,1.7,...) or circuit (a run"),
        (
            {"heads": HEADS, "circuit": Path("somewhere")},
            "matching heads given twice; give either heads (0.8,1.7,...) or circuit (a run",
        ),
        ({"heads": HEADS, "queries": 5}, "5 queries"),
        ({"heads": "9.1"}, "layers are 0 to 2"),
        ({"heads": "8.x"}, "'8.x' is not a head"),
        ({"heads": " , "}, "heads names no head"),
        ({"circuit": Path("/nothing")}, "no circuit.json here"),
        ({"heads": HEADS, "idf": "nothing"}, "no IDF 'nothing'"),
    ],
)
def test_what_it_refuses(ranker, collection, tmp_path, how, complaint):
    with pytest.raises(UserError, match=re.escape(complaint)):
        semantic_bm(str(ranker), str(collection), out=tmp_path / "x", **how)
    assert not (tmp_path / "x").exists(), "nothing is left of what was refused"


def test_a_circuit_without_matching_heads_is_refused(ranker, collection, tmp_path):
    (tmp_path / "circuit.json").write_text(json.dumps({"roles": {"matching": [], "scoring": ["L1.H1"]}}))
    with pytest.raises(UserError, match="no matching head"):
        semantic_bm(str(ranker), str(collection), out=tmp_path / "x", circuit=tmp_path)


def test_several_collections_are_fitted_together(ranker, collection, tmp_path):
    other = write_collection(tmp_path / "other", tiny_collection(queries=16, documents=60, seed=3))
    how = ["--ranker", ranker, "--heads", HEADS, "--depth", 8, "--min-samples", 20]
    finished = whyrank(
        "semantic-bm", *how, "--collection", collection, "--collection", other, "-o", tmp_path / "run"
    )
    assert finished.returncode == 0, finished.stderr
    result = SemanticBM.read(tmp_path / "run")
    assert [one.name for one in result.by_collection] == ["tiny", "other"] and result.queries == 32
    assert "Collection by collection" in (tmp_path / "run" / "report.html").read_text()
    twice = whyrank("semantic-bm", *how, "--collection", other, "--collection", other, "-o", tmp_path / "again")
    assert "is given twice" in one_line(twice)
    assert not (tmp_path / "again").exists()
