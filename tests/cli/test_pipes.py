"""`| head`: a reader that goes away is no error, and takes nothing away from what is written."""

import json
import os
import subprocess
import sys

import pytest

from tests.checkpoints import save

QUIET = ("Traceback", "Exception ignored", "BrokenPipe", "bug of whyrank")


def unread(*arguments, errors_too=False):
    """Runs a command whose stdout (and stderr) nobody reads; returns its exit code and its stderr."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "whyrank", *map(str, arguments)],
            stdout=writer, stderr=writer if errors_too else subprocess.PIPE, text=True, timeout=300,
        )  # fmt: skip
    finally:
        os.close(writer)
    return done.returncode, done.stderr or ""


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A collection, a run, a tiny ranker, pairs and a list of words."""
    folder = tmp_path_factory.mktemp("pipes")
    (folder / "c" / "qrels").mkdir(parents=True)
    rows = [{"_id": f"d{i}", "text": text} for i, text in enumerate(["red cat", "blue dog", "cat and dog"])]
    (folder / "c" / "corpus.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (folder / "c" / "queries.jsonl").write_text('{"_id": "q1", "text": "cat"}\n{"_id": "q2", "text": "dog"}\n')
    (folder / "c" / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td0\t2\nq2\td1\t1\n")
    (folder / "run.trec").write_text("q1 Q0 d0 1 2.0 x\nq2 Q0 d2 1 2.0 x\n")
    save(folder / "model")
    pair = {"id": 1, "query": "cat", "baseline": "a dog", "perturbed": "a cat"}
    (folder / "pairs.jsonl").write_text(json.dumps(pair) + "\n")
    return folder


COMMANDS = {
    "help": ["--help"],
    "version": ["--version"],
    "help of a command": ["rank", "--help"],
    "nothing": [],
    "get": ["get"],
    "get demo": ["get", "demo"],
    "eval": ["eval", "{}/run.trec", "--qrels", "{}/c", "--per-query"],
    "eval json": ["eval", "{}/run.trec", "--qrels", "{}/c", "--json"],
    "rank": ["rank", "--ranker", "bm25", "--collection", "{}/c", "-o", "{}/rank"],
    "patch": ["patch", "--ranker", "{}/model", "--pairs", "{}/pairs.jsonl", "-o", "{}/patch"],
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_whose_output_nobody_reads_ends_quietly(world, name):
    arguments = [one.replace("{}", str(world)) for one in COMMANDS[name]]
    code, errors = unread(*arguments)
    assert code == (2 if name == "nothing" else 0), errors
    assert not any(word in errors for word in QUIET), errors


def test_nor_is_a_closed_stderr_an_error(world):
    code, _ = unread("get", errors_too=True)
    assert code == 0
    code, _ = unread("eval", world / "missing", "--qrels", world / "c", errors_too=True)
    assert code == 2


def test_what_a_command_writes_is_written_all_the_same(world):
    code, errors = unread(
        "eval", world / "run.trec", "--qrels", world / "c", "--per-query", "-o", world / "evaluation"
    )
    assert code == 0, errors
    written = {path.name for path in (world / "evaluation").iterdir()}
    assert {"evaluation.json", "per_query.parquet", "manifest.json"} <= written


def test_the_lines_that_are_read_come_through():
    head = f"{sys.executable} -m whyrank get 2>/dev/null | head -1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", head], capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines()[0].startswith("rankers")
    assert done.stdout.splitlines()[1] == "0"
    assert done.stderr == ""
