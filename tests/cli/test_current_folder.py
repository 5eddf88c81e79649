"""Files in the current folder with the names of modules are not run by anything that a command starts."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from tests.checkpoints import save
from tests.engines.test_listening import LOOPBACK, listening
from tests.learning.small import write_collection
from tests.learning.tiny_training import still_backbone

pytestmark = pytest.mark.security

#: Ours, those of the programs that we start, and some that any interpreter imports at its start.
NAMES = (
    "whyrank",
    "pip",
    "multiprocessing",
    "distributed",
    "dask",
    "accelerate",
    "torch",
    "json",
    "random",
    "struct",
)


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A current folder full of traps; the first that runs writes its name to `run`."""
    folder = tmp_path / "here"
    folder.mkdir()
    for name in NAMES:
        trap = f"open({str(tmp_path / 'run')!r}, 'a').write({name!r} + ' '); raise SystemExit(0)\n"
        (folder / f"{name}.py").write_text(trap)
    return folder


def environment() -> dict[str, str]:
    """As a user's: without what would keep the current folder off the path in any case."""
    return {**{name: os.environ[name] for name in os.environ if name != "PYTHONSAFEPATH"}, "OMP_NUM_THREADS": "1"}


def start(here: Path, *arguments: object) -> subprocess.Popen[str]:
    """As the installed script runs, which has its own folder and not the current one on the path."""
    script = here.parent / "bin" / "whyrank"
    script.parent.mkdir()
    script.write_text("from whyrank.cli.app import main\n\nif __name__ == '__main__':\n    main()\n")
    command = [*map(str, [sys.executable, script, *arguments])]
    piped = subprocess.PIPE
    return subprocess.Popen(command, cwd=here, stdout=piped, stderr=piped, text=True, env=environment())


def test_the_traps_do_run_when_the_folder_is_on_the_path(here: Path) -> None:
    subprocess.run([sys.executable, "-m", "whyrank", "--help"], cwd=here, capture_output=True, env=environment())
    assert (here.parent / "run").exists()


def test_workers_do_not_run_them(here: Path, tmp_path: Path) -> None:
    save(tmp_path / "model")
    pairs = tmp_path / "pairs.jsonl"
    pair = '"query": "cat", "baseline": "the cat sat", "perturbed": "the dog sat"'
    pairs.write_text(f'{{"id": "1", {pair}}}\n{{"id": "2", {pair}}}\n')
    out = tmp_path / "out"
    running = start(here, "patch", "--ranker", tmp_path / "model", "--pairs", pairs, "--workers", 1, "-o", out)
    complaints = running.communicate()[1]
    assert running.returncode == 0, complaints
    assert (out / "effects.parquet").exists()
    assert not (tmp_path / "run").exists(), (tmp_path / "run").read_text()


def test_the_processes_of_a_training_do_not_run_them_and_listen_on_loopback_only(
    here: Path, tmp_path: Path
) -> None:
    still_backbone(tmp_path)
    write_collection(tmp_path / "collection")
    what = ["--model", "bert", "--backbone", tmp_path / "backbone", "--collection", tmp_path / "collection"]
    how = ["--folds", 3, "--seeds", 1, "--set", "epochs=1", "--set", "batch=6", "--processes", 2]
    running = start(here, "train", *what, *how, "-o", tmp_path / "out")
    addresses = set()
    while running.poll() is None:
        with suppress(psutil.Error, OSError):  # a process that has just ended
            family = [running.pid, *(one.pid for one in psutil.Process(running.pid).children(recursive=True))]
            addresses |= {place.split(":")[0] for place in listening(family)}
        time.sleep(0.1)
    assert running.returncode == 0, running.communicate()[1]
    assert (tmp_path / "out" / "train.json").exists()
    assert not (tmp_path / "run").exists(), (tmp_path / "run").read_text()
    if sys.platform.startswith("linux"):
        assert addresses and addresses <= LOOPBACK
