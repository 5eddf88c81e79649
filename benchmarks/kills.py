"""Kills every long command at changes of files and at random moments, runs it again, and compares what it made.

    python benchmarks/kills.py --kills 240 --disk-errors 120

Two of three kills come right before a file is opened to be written, renamed or deleted, spread over all such
changes that a command makes; the others at a random moment. A disk error is a read-only, full, forbidden or broken
folder from one such change on: one line and exit code 2. After each, the same command must end well, with the
same bytes as an undisturbed run in every file (but for the times in reports), and leave nothing else. It exits
with 1 if one did not.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
os.environ.setdefault("OMP_NUM_THREADS", "1")  # a child of a process with several threads cannot use them


def main() -> int:
    """Prints one row per command, then what failed."""
    import torch

    torch.set_num_threads(1)
    from tests.kills.campaign import campaign
    from tests.kills.commands import COMMANDS, share_out

    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=240, help="how many, over all commands")
    parser.add_argument("--disk-errors", type=int, default=120, help="how many, over all commands")
    parser.add_argument("--seed", type=int, default=0, help="of the random moments")
    parser.add_argument(
        "--only", action="append", choices=[command.name for command in COMMANDS], help="a command"
    )
    asked = parser.parse_args()
    chosen = [command for command in COMMANDS if not asked.only or command.name in asked.only]
    print(
        f"{'command':22} {'changes':>8} {'seconds':>8} {'kills':>6} {'disk errors':>12} {'failures':>9}",
        flush=True,
    )
    counts, started = [], time.monotonic()
    disk_errors = dict(share_out(chosen, asked.disk_errors))
    for command, kills in share_out(chosen, asked.kills):
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stderr(io.StringIO()):
            count = campaign(command, Path(folder) / "place", kills, disk_errors[command], asked.seed)
        counts.append(count)
        row = f"{count.command:22} {count.changes:8} {count.seconds:8.1f} {count.kills:6} {count.disk_errors:12}"
        print(f"{row} {len(count.failures):9}", flush=True)
    kills, failures = sum(count.kills for count in counts), [one for count in counts for one in count.failures]
    errors = sum(count.disk_errors for count in counts)
    print(f"{kills} kills, {errors} disk errors, {len(failures)} failures, {time.monotonic() - started:.0f} s")
    for failure in failures:
        print(failure, file=sys.stderr)
    return int(bool(failures))


if __name__ == "__main__":
    sys.exit(main())
