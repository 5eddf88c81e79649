"""`whyrank finetune` from the outside: what it writes, how it goes on after a kill, what it refuses."""

import json
import os
import signal
import subprocess
import sys
import time

import jsonschema
import pytest

import whyrank as library
from tests.cli.run import one_line, whyrank
from tests.learning.small import checkpoint, write_collection
from tests.pages.inert import text_of
from whyrank.learning.finetuning.results import FineTuning

SMALL = ["--seeds", "2", "--epochs", "2", "--rate", "3e-3", "--batch", "8", "--depth", "8", "--max-length", "24"]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A tiny cross-encoder, and a small collection on disk."""
    folder = tmp_path_factory.mktemp("finetune")
    checkpoint(folder / "ranker")
    write_collection(folder / "collection")
    return folder


@pytest.fixture(scope="module")
def finished(place):
    """A run of all four conditions."""
    done = finetune(place, out=place / "run")
    assert done.returncode == 0, done.stderr
    return done


def finetune(place, *more, out):
    """Tiny models gain nothing from a second thread."""
    return whyrank(*command(place, *more), "-o", out, OMP_NUM_THREADS="1")


def command(place, *more):
    return ["finetune", "--ranker", place / "ranker", "--collection", place / "collection", *SMALL, *more]


def test_what_it_writes(finished, place):
    out = place / "run"
    given = json.loads((out / "finetune.json").read_text())
    jsonschema.Draft202012Validator(FineTuning.schema()).validate(given)
    assert FineTuning.read(out).to_json() == given
    assert [len(given["split"][part]) for part in ("train", "validation", "test")] == [9, 2, 2]
    assert len(given["models"]) == 8 and len(given["means"]) == 12 and len(given["differences"]) == 14
    assert all(len(run["history"]) == 3 and len(run["test"]["nDCG@1"]) == 2 for run in given["models"])
    assert {path.name for path in out.iterdir()} == {
        "manifest.json", "finetune.json", "report.html", "curves.svg", "means.svg", "models",
    }  # fmt: skip
    assert sorted(path.name for path in (out / "models").iterdir()) == sorted(
        f"{condition}-seed{seed}" for condition in given["settings"]["conditions"] for seed in (0, 1)
    )
    page = (out / "report.html").read_text()
    assert page.count("<svg") == 2 and 'src="http' not in page and 'href="http' not in page
    assert "A2 (aligned-full) has the best nDCG@1" in text_of(page)
    assert "aligned-embeddings" in finished.stdout and "2 test queries are too few" in finished.stdout
    assert "whyrank rank --ranker" in finished.stderr


def test_a_trained_model_opens_and_ranks(finished, place):
    ranker = library.load(str(place / "run" / "models" / "aligned-full-seed1"))
    assert ranker.kind == "cross-encoder" and ranker.max_length == 24
    assert len(ranker.rank("how many cat", ["the cat", "a red dog"])) == 2


def test_again_it_trains_nothing(finished, place):
    written = (place / "run" / "finetune.json").stat().st_mtime_ns
    again = finetune(place, out=place / "run")
    assert again.returncode == 0 and "holds this result already" in again.stderr
    assert again.stdout == finished.stdout
    assert (place / "run" / "finetune.json").stat().st_mtime_ns == written


def test_killed_after_an_epoch_it_goes_on_and_ends_with_the_same_numbers(finished, place):
    out = place / "killed"
    start = [sys.executable, "-m", "whyrank", *map(str, command(place)), "-o", str(out)]
    running = subprocess.Popen(
        start, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env={**os.environ, "OMP_NUM_THREADS": "1"}
    )
    deadline = time.monotonic() + 200
    while not list(out.glob(".training-*/*/epoch-0001")) and running.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.002)
    running.send_signal(signal.SIGKILL)
    running.wait()
    assert running.returncode == -signal.SIGKILL and not (out / "finetune.json").exists()
    assert "other inputs" in one_line(finetune(place, "--epochs", "3", out=out))
    again = finetune(place, out=out)
    assert again.returncode == 0, again.stderr
    one, other = (json.loads((folder / "finetune.json").read_text()) for folder in (place / "run", out))
    assert one == other
    for model in (place / "run" / "models").iterdir():
        same = out / "models" / model.name / "model.safetensors"
        assert (model / "model.safetensors").read_bytes() == same.read_bytes()
    assert not [path for path in out.rglob("*") if path.name.startswith(".")], "nothing half-done is left"


def test_what_it_refuses(place, tmp_path):
    write_collection(tmp_path / "few", queries=9)
    few = one_line(finetune(place, "--collection", tmp_path / "few", out=tmp_path / "x"))
    assert "9 judged queries cannot be split; 10 are needed" in few
    wrong = [
        (["--ranker", "bi-minilm-l3"], "is not a cross-encoder (bi-encoder)"),
        (["--ranker", "bm25"], "bm25 cannot be opened"),
    ]
    for how, complaint in wrong:
        assert complaint in one_line(finetune(place, *how, out=tmp_path / "x"))
    assert not (tmp_path / "x").exists(), "nothing is left of what was refused"
