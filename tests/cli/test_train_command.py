"""`whyrank train` from the outside: what it writes, after a kill, in two processes, and what it refuses."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import jsonschema
import numpy as np
import pytest
from safetensors.numpy import load_file

import whyrank as library
from tests.cli.run import one_line, whyrank, whyrank_here
from tests.learning.small import DOCUMENTS, QRELS, QUERIES, write_collection
from tests.learning.tiny_training import still_backbone
from tests.pages.inert import text_of
from whyrank.cli import several_processes
from whyrank.cli.train import train
from whyrank.collections.formats import read_run
from whyrank.core.errors import UserError
from whyrank.evaluation.measures import mean, per_query
from whyrank.explain.api import explain
from whyrank.learning.results import Training

SETTINGS = {
    "epochs": 2, "batch": 7, "dropout": 0, "rate": 3e-3, "backbone_rate": 1e-3, "select": "nDCG@5", "steps": 1,
}  # fmt: skip


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A tiny backbone that drops nothing out, and a small collection on disk."""
    folder = tmp_path_factory.mktemp("train")
    still_backbone(folder)
    write_collection(folder / "collection")
    return folder


def command(place, **settings):
    made = [part for name, value in {**SETTINGS, **settings}.items() for part in ("--set", f"{name}={value}")]
    where = ["--backbone", place / "backbone", "--collection", place / "collection"]
    return ["train", "--model", "dgre", *where, "--folds", "3", "--seeds", "1", *made]


def run(place, *more, out, **settings):
    """Tiny models gain nothing from a second thread."""
    return whyrank(*command(place, **settings), *more, "-o", out, OMP_NUM_THREADS="1")


@pytest.fixture(scope="module")
def finished(place):
    done = run(place, out=place / "run")
    assert done.returncode == 0, done.stderr
    return done


def test_what_it_writes(finished, place):
    out = place / "run"
    made = json.loads((out / "train.json").read_text())
    jsonschema.Draft202012Validator(Training.schema()).validate(made)
    assert Training.read(out).to_json() == made
    assert {path.name for path in out.iterdir()} == {
        "manifest.json", "train.json", "report.html", "curves.svg", "means.svg", "models", "runs",
    }  # fmt: skip
    assert [run["model"] for run in made["models"]] == [f"models/fold{fold}-seed0" for fold in (1, 2, 3)]
    assert sorted(path.name for path in (out / "models").iterdir()) == [f"fold{fold}-seed0" for fold in (1, 2, 3)]
    manifest = json.loads((out / "manifest.json").read_text())
    settings = manifest["inputs"]["settings"]
    assert manifest["inputs"]["processes"] == 1 and manifest["inputs"]["vectors"] is None
    asked = manifest["asked"]
    assert asked["model"] == "dgre" and asked["collection"] == str(place / "collection") and asked["depth"] == 100
    assert asked["backbone"] == str(place / "backbone") and asked["folds"] == 3 and asked["keep_models"] == "all"
    assert asked["settings"]["rate"] == "0.003" and manifest["first_stage"] == "BM25's top 100"
    assert settings["training"]["rate"] == 3e-3 and settings["training"]["patience"] is None
    assert settings["model"]["steps"] == 1 and settings["model"]["masking"] == "adaptive"
    assert set(made["models"][0]["history"][1]["losses"]) == {"rank", "distance", "information", "critics"}
    page = (out / "report.html").read_text()
    assert page.count("<svg") == 2 and 'src="http' not in page and 'href="http' not in page
    assert "distance loss" in text_of(page) and "validation nDCG@5" in text_of(page)
    assert "first stage" in finished.stdout and "fold 2, seed 0" in finished.stdout
    told_so = r"fold1-seed0, epoch 2/2: rank \d\.\d+ distance \S+ information \S+ critics \S+, nDCG@5 \d\.\d+"
    assert re.search(told_so, finished.stderr), "each epoch leaves a line"
    assert "whyrank eval" in finished.stderr and "whyrank audit --ranker" in finished.stderr


def test_its_run_has_the_measures_that_it_tells(finished, place):
    made = json.loads((place / "run" / "train.json").read_text())
    found = per_query(read_run(place / "run" / "runs" / "seed0.trec"), QRELS, ["nDCG@20"])
    expected = {qid: value for run in made["models"] for qid, value in run["test"]["nDCG@20"].items()}
    assert {row.qid: row.value for row in found} == pytest.approx(expected) and len(expected) == len(QUERIES)


def test_a_trained_model_ranks_and_explains(finished, place):
    ranker = library.load(str(place / "run" / "models" / "fold2-seed0"))
    assert ranker.kind == "trained" and ranker.reads_all_layers
    assert len(ranker.rank("how many cat", ["the cat", "a red dog"])) == 2
    assert explain(ranker, "how many cat", "the cat sat").score == pytest.approx(
        float(ranker.score([("how many cat", "the cat sat")])[0])
    )
    scores = json.loads((place / "run" / "train.json").read_text())["folds"][1]["test"]
    assert scores, "fold 2 tests something"
    (qid, *_) = scores
    found = {row.docno: row.score for row in read_run(place / "run" / "runs" / "seed0.trec")[qid]}
    for docno, score in found.items():
        assert ranker.score([(QUERIES[qid], DOCUMENTS[docno])])[0] == pytest.approx(score, abs=1e-4)


@pytest.mark.slow
def test_commands_accept_a_trained_folder(finished, place):
    model, collection, out = place / "run" / "models" / "fold2-seed0", place / "collection", place / "used"
    start = ["--ranker", model, "--collection", collection]
    pairs = ["pairs", "--axiom", "TFC1", *start, "--documents", "3", "-o", out / "tfc1.jsonl"]
    for made in (
        ["rank", *start, "--depth", "4", "-o", out / "rank"],
        ["eval", out / "rank" / "run.trec", place / "run" / "runs" / "seed0.trec", "--qrels", collection],
        ["audit", *start, "--axiom", "TFC1", "--documents", "3", "-o", out / "audit"],
        pairs,
        ["patch", "--ranker", model, "--pairs", out / "tfc1.jsonl", "-o", out / "heads"],
    ):
        done = whyrank(*made, OMP_NUM_THREADS="1")
        assert done.returncode == 0, done.stderr
    assert "nDCG" in whyrank("eval", out / "rank" / "run.trec", "--qrels", collection).stdout
    assert json.loads((out / "heads" / "summary.json").read_text())


def test_a_file_gives_the_same_and_again_it_trains_nothing(finished, place):
    values = {**SETTINGS, "model": "dgre", "folds": 3, "seeds": 5, "epochs": 9}
    lines = [f"{name} = {json.dumps(value)}" for name, value in values.items()]
    lines += [f'backbone = "{place / "backbone"}"', f'collection = "{place / "collection"}"']
    (place / "how.toml").write_text("\n".join(lines) + "\n")
    again = whyrank(
        "train", "--config", place / "how.toml", "--seeds", "1", "--set", "epochs=2", "-o", place / "run",
        OMP_NUM_THREADS="1",
    )  # fmt: skip
    assert again.returncode == 0, again.stderr
    assert "holds this result already" in again.stderr and again.stdout == finished.stdout


@pytest.mark.slow
def test_killed_after_an_epoch_it_goes_on_and_ends_with_the_same(finished, place):
    out = place / "killed"
    start = [sys.executable, "-m", "whyrank", *map(str, command(place)), "-o", str(out)]
    running = subprocess.Popen(
        start, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env={**os.environ, "OMP_NUM_THREADS": "1"}
    )
    deadline = time.monotonic() + 200
    while not list(out.glob(".training-*/fold2*/epoch-0001")) and running.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.002)
    running.send_signal(signal.SIGKILL)
    running.wait()
    assert running.returncode == -signal.SIGKILL and not (out / "train.json").exists()
    with pytest.raises(
        UserError, match=r"settings.model.steps was 1 and is 2; settings.training.epochs was 2 and is 4"
    ):
        call(place, out=out, epochs=4, steps=2)
    again = run(place, out=out)
    assert again.returncode == 0, again.stderr
    assert json.loads((out / "train.json").read_text()) == json.loads((place / "run" / "train.json").read_text())
    for model in (place / "run" / "models").iterdir():
        same = out / "models" / model.name / "model.safetensors"
        assert (model / "model.safetensors").read_bytes() == same.read_bytes()
    assert not [path for path in out.rglob("*") if path.name.startswith(".")], "nothing half-done is left"


@pytest.mark.slow
def test_two_trainings_at_a_time_come_to_the_same_bit_for_bit(finished, place):
    done = run(place, "--workers", "2", out=place / "beside")
    assert done.returncode == 0, done.stderr
    assert "3 trainings, 2 at a time" in done.stderr and "dgre fold3-seed0, epoch 2/2" in done.stderr
    made = [json.loads((place / name / "train.json").read_text()) for name in ("run", "beside")]
    assert made[0] == made[1]
    for model in (place / "run" / "models").iterdir():
        same = place / "beside" / "models" / model.name / "model.safetensors"
        assert (model / "model.safetensors").read_bytes() == same.read_bytes()
    both = run(place, "--workers", "2", "--processes", "2", out=place / "both")
    assert "give one" in one_line(both)
    assert not (place / "both").exists()


@pytest.mark.slow
def test_killed_beside_others_each_goes_on_and_ends_with_the_same(finished, place):
    out = place / "both-killed"
    start = [sys.executable, "-m", "whyrank", *map(str, command(place)), "--workers", "2", "-o", str(out)]
    running = subprocess.Popen(
        start, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    deadline = time.monotonic() + 200
    while not list(out.glob(".training-*/fold2*/epoch-0000")) and running.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.002)
    os.killpg(running.pid, signal.SIGKILL)
    assert running.wait() == -signal.SIGKILL and not (out / "train.json").exists()
    again = run(place, "--workers", "2", out=out)
    assert again.returncode == 0, again.stderr
    assert json.loads((out / "train.json").read_text()) == json.loads((place / "run" / "train.json").read_text())


def test_two_processes_come_to_what_one_does(finished, place):
    pytest.importorskip("accelerate")
    done = run(place, "--processes", "2", out=place / "two")
    assert done.returncode == 0, done.stderr
    assert json.loads((place / "two" / "manifest.json").read_text())["inputs"]["processes"] == 2
    with pytest.raises(UserError, match="processes was 2 and is 1"):
        call(place, place / "two")
    for model in (place / "run" / "models").iterdir():
        one = load_file(model / "model.safetensors")
        two = load_file(place / "two" / "models" / model.name / "model.safetensors")
        for name, weight in one.items():
            if not name.endswith("key.bias"):  # the softmax cancels it: its gradient is rounding
                np.testing.assert_allclose(two[name], weight, atol=1e-5, err_msg=name)
    histories = [json.loads((place / name / "train.json").read_text())["models"] for name in ("run", "two")]
    for one, two in zip(*histories, strict=True):
        assert [row["loss"] for row in one["history"]] == pytest.approx([row["loss"] for row in two["history"]])


def call(place, out, model="dgre", config=None, **more):
    """The command in this process."""
    given = {
        "model": model, "backbone": str(place / "backbone"), "collection": str(place / "collection"), "folds": 3,
        "seeds": 1, "depth": None, "train_qrels": None, "keep_models": None, "run": None, "queries": None,
        "test_queries": None, "seed": None,
    }  # fmt: skip
    flags = {name: more.pop(name, value) for name, value in given.items()}
    train(
        out=out, config=config, set_=[f"{name}={value}" for name, value in {**SETTINGS, **more}.items()], **flags
    )


@pytest.mark.parametrize(
    ("how", "complaint"),
    [
        ({"epoch": 3}, "dgre has no setting 'epoch'; did you mean epochs"),
        ({"foldz": 3}, "dgre has no setting 'foldz'; did you mean folds"),
        ({"epochs": "many"}, "epochs is 'many'; it must be a whole number"),
        ({"masking": "some"}, "masking cannot be 'some'"),
        ({"max_length": 512}, "max_length is 512, and .* has positions for 24 tokens"),
        ({"model": "dgree"}, "no model is called 'dgree'; did you mean dgre"),
        ({"model": None}, "no model is given; give model"),
        ({"folds": 9}, "13 judged queries cannot make 9 folds"),
        ({"keep_models": "some"}, "unknown keep_models 'some'"),
        ({"train_qrels": "nowhere"}, "no collection 'nowhere'"),
        ({"layers": 99}, "layers cannot be 99"),
        ({"max_length": 5}, "5 tokens are too few to read"),
        ({"accumulate": 7}, "1 pair read at a time has nothing to estimate mutual information from"),
        ({"measures": "nDCG(dcg='exp-log2',cutoff=5),nDGC@5"}, "no measure 'nDGC@5'"),
    ],
)
def test_what_it_refuses(place, tmp_path, how, complaint):
    with pytest.raises(UserError, match=complaint):
        call(place, tmp_path / "x", **how)
    assert not (tmp_path / "x").exists(), "nothing is left of what was refused"


def test_a_file_is_checked_like_flags(place, tmp_path):
    path = tmp_path / "how.toml"
    path.write_text('folds = "five"\n')
    with pytest.raises(UserError, match=r"how.toml: folds is 'five'; it must be a whole number"):
        call(place, tmp_path / "x", config=path)
    for name, value in (("seeds", 0), ("seeds", -1), ("queries", -1), ("depth", 0), ("folds", 0)):
        path.write_text(f"{name} = {value}\n")
        with pytest.raises(UserError, match=rf"how.toml: {name} is {value}; give 1 or more"):
            call(place, tmp_path / "x", config=path, **{"folds": None, "seeds": None, name: None})
    path.write_text("epohcs = 3\n")
    with pytest.raises(UserError, match=r"no setting 'epohcs'; did you mean epochs"):
        call(place, tmp_path / "x", config=path)
    assert not (tmp_path / "x").exists()


WORDS = {"epochs": 1, "batch": 7, "select": "nDCG@5", "measures": "nDCG(dcg='exp-log2',cutoff=5),P@5"}


def test_another_content_of_the_vectors_file_is_another_training(place, tmp_path, monkeypatch):
    """And a measure may have commas in its brackets; a file that is not there leaves nothing."""
    monkeypatch.setattr("tests.cli.test_train_command.SETTINGS", WORDS)
    file = tmp_path / "vectors.txt"
    with pytest.raises(UserError, match="no such file"):
        call(place, tmp_path / "run", model="drmm", vectors=file)
    assert not (tmp_path / "run").exists()
    file.write_text("cat 1 0\ndog 0 1\nmany 1 1\n")
    call(place, tmp_path / "run", model="drmm", vectors=file)
    made = json.loads((tmp_path / "run" / "train.json").read_text())
    assert {row["measure"] for row in made["means"]} == {"nDCG(dcg='exp-log2')@5", "P@5"}
    call(place, tmp_path / "run", model="drmm", vectors=file)
    file.write_text("cat 1 0\ndog 0 1\nmany 0 1\n")
    with pytest.raises(UserError, match=r"with other inputs \(another vectors\)"):
        call(place, tmp_path / "run", model="drmm", vectors=file)


def test_a_query_that_is_not_found_counts_in_every_mean(place, tmp_path, monkeypatch):
    monkeypatch.setattr("tests.cli.test_train_command.SETTINGS", {**WORDS, "measures": "nDCG@5"})
    folder = write_collection(tmp_path / "more")
    with (folder / "queries.jsonl").open("a") as queries, (folder / "qrels" / "test.tsv").open("a") as grades:
        queries.write('{"_id": "qz", "text": "zebra"}\n')
        grades.write("qz\td0-0\t1\n")
    call(place, tmp_path / "run", model="drmm", collection=str(folder))
    made = json.loads((tmp_path / "run" / "train.json").read_text())
    jsonschema.Draft202012Validator(Training.schema()).validate(made)
    (mine,) = (row["mean"]["value"] for row in made["means"] if row["name"] == "drmm")
    found = per_query(read_run(tmp_path / "run" / "runs" / "seed0.trec"), {**QRELS, "qz": {"d0-0": 1}}, ["nDCG@5"])
    assert mine == pytest.approx(mean(found)["nDCG@5"]) and made["without_candidates"] == 1
    assert "1 of 14 judged queries have no candidates" in text_of((tmp_path / "run" / "report.html").read_text())


@pytest.mark.parametrize(("made", "expected"), [(None, "2"), ("7", "7")])
def test_processes_share_the_cores_out_unless_told_otherwise(monkeypatch, made, expected):
    started = []

    def start(command, env, **how):
        started.append(env)
        return subprocess.Popen(["true"])

    monkeypatch.setattr(several_processes.os, "cpu_count", lambda: 8)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    if made:
        monkeypatch.setenv("OMP_NUM_THREADS", made)
    monkeypatch.setattr(several_processes, "subprocess", SimpleNamespace(Popen=start, DEVNULL=subprocess.DEVNULL))
    for number in range(3):
        several_processes._start(number, 3, Path("meeting-point")).wait()
    assert [env["OMP_NUM_THREADS"] for env in started] == [expected] * 3
    assert [env["RANK"] for env in started] == ["0", "1", "2"]


def test_a_collection_without_judgements_is_refused(place, tmp_path):
    write_collection(tmp_path / "bare")
    (tmp_path / "bare" / "qrels" / "test.tsv").unlink()
    with pytest.raises(UserError, match="this collection has no judgements"):
        call(place, tmp_path / "x", collection=str(tmp_path / "bare"))


@pytest.mark.parametrize(
    ("how", "complaint"),
    [([], "no model is given"), (["--model", "dgree", "--backbone", "b", "--collection", "demo"], "'dgree'")],
)
def test_without_a_known_model_nothing_is_announced(tmp_path, capfd, how, complaint):
    with pytest.raises(UserError, match=complaint):
        whyrank_here("train", *how, "-o", tmp_path / "x")
    assert capfd.readouterr() == ("", "")
