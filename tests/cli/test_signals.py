"""Ctrl-C, SIGTERM and SIGHUP: one line, the signal's exit code, and nobody left running."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tests.learning.small import write_collection
from tests.learning.tiny_training import still_backbone

STOPPED = "whyrank: stopped; the same command again goes on where it can"
SIGNALS = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}
#: Sends itself a signal when the n-th module is imported after the command has begun.
AT_IMPORT = """
import os, signal, sys
from whyrank.cli.start import main
signal.signal(signal.SIGINT, signal.default_int_handler)
left = [int(sys.argv.pop(1))]
def hook(event, about):
    if event == "import":
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGINT)
sys.addaudithook(hook)
main()
"""


def hears() -> None:
    """Signals as a shell in the foreground leaves them (a job in the background ignores SIGINT)."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def start(*arguments: object, **more) -> subprocess.Popen:
    command = [sys.executable, "-m", "whyrank", *map(str, arguments)]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, preexec_fn=hears, **more)


@pytest.mark.parametrize(("number", "code"), SIGNALS.items())
def test_a_signal_ends_a_command_with_one_line_and_its_exit_code(tmp_path, number, code):
    process = start("rank", "--ranker", "bm25", "--collection", "demo", "-o", tmp_path / "out")
    assert process.stderr.readline() == "ranking demo with bm25\n"
    process.send_signal(number)
    _, printed = process.communicate(timeout=60)
    assert process.returncode == code
    assert printed.splitlines()[-1] == STOPPED
    assert "Traceback" not in printed
    assert not (tmp_path / "out" / "run.trec").exists()


@pytest.mark.parametrize("number", [1, 2, 3, 5, 10, 20, 50, 100, 200])
def test_a_signal_while_whyrank_itself_loads(number, tmp_path):
    command = [sys.executable, "-c", AT_IMPORT, str(number), "rank", "--ranker", "bm25", "--collection", "demo"]
    done = subprocess.run([*command, "-o", str(tmp_path / "out")], capture_output=True, text=True, timeout=60)
    assert done.returncode in (130, -signal.SIGINT), done.stderr
    assert done.stderr in ("", STOPPED + "\n")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_the_processes_of_a_training_end_with_it(tmp_path, number, code):
    still_backbone(tmp_path)
    write_collection(tmp_path / "collection")
    what = ["--model", "bert", "--backbone", tmp_path / "backbone", "--collection", tmp_path / "collection"]
    how = ["--folds", 3, "--seeds", 1, "--set", "epochs=500", "--set", "batch=6", "--processes", 2]
    mark = f"{tmp_path.name}-{os.getpid()}"
    process = start("train", *what, *how, "-o", tmp_path / mark, env={**os.environ, "OMP_NUM_THREADS": "1"})
    _until(lambda: list((tmp_path / mark).glob(".training-*/*/epoch-0001")), process)
    assert len(_running(mark)) == 3, "the command and its two processes"
    process.send_signal(number)
    _, printed = process.communicate(timeout=60)
    assert process.returncode == code
    assert STOPPED in printed and "Traceback" not in printed, printed
    assert _running(mark) == []


def _until(ready, process: subprocess.Popen) -> None:
    deadline = time.monotonic() + 200
    while not ready():
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < deadline
        time.sleep(0.02)


def _running(mark: str) -> list[str]:
    """The numbers of the processes whose command line holds `mark`."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if mark.encode() in (process / "cmdline").read_bytes():
                found.append(process.name)
    return found
