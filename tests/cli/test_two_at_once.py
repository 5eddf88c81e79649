"""Two commands at a time with one output: one does it, the other says who holds it; nothing is lost."""

import os
import subprocess
import sys

import pandas as pd
import pytest

from tests.cli.run import one_line, whyrank
from tests.cli.small_work import write_small_work
from whyrank.core.lock import Lock
from whyrank.core.runs import RunFolder, is_finished

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    return write_small_work(tmp_path_factory.mktemp("two"))


def at_once(here, *commands):
    """Starts all, then returns the exit code and the words of each."""
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "whyrank", *map(str, command)], cwd=here, text=True, stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL, env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        for command in commands
    ]  # fmt: skip
    words = [one.communicate(timeout=300)[1] for one in running]
    for one, said in zip(running, words, strict=True):
        assert one.returncode in (0, 2) and "Traceback" not in said and "damaged" not in said, said
    return [one.returncode for one in running], words


def test_the_second_says_who_holds_the_folder(here, tmp_path):
    with RunFolder.claim(tmp_path / "run", "rank", {"some": "inputs"}):
        refused = whyrank("rank", "--ranker", "bm25", "--collection", here / "collection", "-o", tmp_path / "run")
    assert f"in use by process {os.getpid()} on " in one_line(refused)
    assert "wait for it to end, or choose another folder" in refused.stderr


def test_two_rankers_into_one_folder(here, tmp_path):
    ranks = [
        ["rank", "--ranker", ranker, "--collection", "collection", "-o", tmp_path / "run"]
        for ranker in ("bm25", "ranker")
    ]
    codes, words = at_once(here, *ranks)
    assert sorted(codes) == [0, 2], words
    assert "in use by process" in words[codes.index(2)] or "other inputs" in words[codes.index(2)]
    tags = {line.split()[-1] for line in (tmp_path / "run" / "run.trec").read_text().splitlines()}
    assert tags == {("bm25", "ranker")[codes.index(0)]}
    files = sorted(path.name for path in (tmp_path / "run").iterdir())
    assert files == ["manifest.json", "rank.json", "run.trec"]


def test_two_edits_saved_to_one_folder(here, tmp_path):
    saves = [
        ["edit", "--ranker", "ranker", "--idf", "idf.tsv", "--up", up, "--save", tmp_path / "new"]
        for up in ("cat=5", "dog=9")
    ]
    codes, words = at_once(here, *saves)
    assert sorted(codes) == [0, 2], words
    assert [path.name for path in tmp_path.iterdir()] == ["new"], "no lock is left beside it"


def test_two_sets_of_pairs_into_one_file(here, tmp_path):
    with Lock(tmp_path / ".pairs.jsonl.lock").acquire():
        refused = whyrank(
            "pairs", "--axiom", "TFC1", "--collection", "collection", "-o", tmp_path / "pairs.jsonl", cwd=here
        )
    assert f"in use by process {os.getpid()} on " in one_line(refused)
    made = whyrank(
        "pairs", "--axiom", "TFC1", "--collection", "collection", "-o", tmp_path / "pairs.jsonl", cwd=here
    )
    assert made.returncode == 0, made.stderr
    again = whyrank(
        "pairs", "--axiom", "TFC1", "--collection", "collection", "-o", tmp_path / "pairs.jsonl", cwd=here
    )
    assert again.returncode == 0 and "is there already and will be replaced" in again.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"pairs.jsonl", "pairs.dropped.json"}


def test_two_equal_patches_into_one_folder(here, tmp_path):
    patch = ["patch", "--ranker", "ranker", "--pairs", "pairs.jsonl", "-o", tmp_path / "run"]
    codes, words = at_once(here, patch, patch)
    assert 0 in codes, words
    assert all(code == 0 or "in use by process" in said for code, said in zip(codes, words, strict=True)), words
    assert is_finished(tmp_path / "run")
    assert len(pd.read_parquet(tmp_path / "run" / "effects.parquet")["pair"].unique()) == 3
