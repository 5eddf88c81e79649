"""Some kills and disk errors of the benchmark; it has a process of its own, since it forks."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def kills(*arguments: str) -> tuple[int, int]:
    """Runs the benchmark; returns how many kills and disk errors there were."""
    command = [sys.executable, "benchmarks/kills.py", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=1500)
    assert done.returncode == 0, done.stdout + done.stderr
    (found,) = re.findall(r"^(\d+) kills, (\d+) disk errors, 0 failures", done.stdout, re.M)
    return int(found[0]), int(found[1])


@pytest.mark.slow
def test_rank_and_edit_killed_and_on_a_failing_disk():
    killed, errors = kills("--only", "rank", "--only", "edit", "--kills", "4", "--disk-errors", "4")
    assert killed >= 2 and errors == 4


@pytest.mark.slow
def test_every_long_command_killed_and_on_a_failing_disk():
    killed, errors = kills("--kills", "34", "--disk-errors", "34")
    assert killed >= 25 and errors >= 34
