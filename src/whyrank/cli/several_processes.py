"""A command run in several processes of this machine that know of each other, as torchrun would start them.

They meet through a file that only this user can read, and speak over loopback: torchrun's meeting point listens on
all addresses without a login, and what the processes send each other is unpickled.
"""

from __future__ import annotations

import os
import shlex
import socket
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

from whyrank.cli.caller import asked
from whyrank.core.errors import UserError
from whyrank.learning.world import MEETING_POINT

#: Seconds that the first process, which speaks for all, has to end by itself when another has failed.
GRACE = 10.0
#: What Linux and macOS call loopback, and the variables that tell gloo and NCCL to listen there.
LOOPBACK = ("lo", "lo0")
LISTEN_ON = ("GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME")


def run_in_processes(count: int) -> int:
    """Runs this same command line `count` times; returns the exit code: 0, or that of one that failed."""
    if find_spec("accelerate") is None:
        raise UserError("several processes need accelerate", todo="install it: pip install 'whyrank[train]'")
    with tempfile.TemporaryDirectory(prefix="whyrank-") as folder:
        running = [_start(number, count, Path(folder, "meeting-point")) for number in range(count)]
        try:
            return _first_failure(running)
        finally:
            _end(running)


def _first_failure(running: list[subprocess.Popen[bytes]]) -> int:
    """0 once all have ended well; what failed first, after the first process has had time to say why."""
    while any(process.poll() is None for process in running):
        failed = [process.returncode for process in running if process.returncode]
        if failed:
            try:
                return abs(running[0].wait(GRACE) or failed[0])
            except subprocess.TimeoutExpired:
                return abs(failed[0])
        time.sleep(0.05)
    return max(abs(process.returncode) for process in running)


def _end(running: list[subprocess.Popen[bytes]]) -> None:
    """Asks all to stop, and makes those stop that do not."""
    for process in running:
        process.terminate()
    for process in running:
        try:
            process.wait(GRACE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _start(number: int, count: int, meeting_point: Path) -> subprocess.Popen[bytes]:
    """The cores are shared out, unless the environment says how many threads each has."""
    about = {
        "RANK": number, "LOCAL_RANK": number, "WORLD_SIZE": count, "LOCAL_WORLD_SIZE": count,
        MEETING_POINT: meeting_point,
    }  # fmt: skip
    threads = {"OMP_NUM_THREADS": str(max(1, (os.cpu_count() or 1) // count))}
    ours = {name: str(value) for name, value in about.items()}
    environment = {**threads, **_loopback_only(), **os.environ, **ours}
    silent = None if number == 0 else subprocess.DEVNULL
    command = [
        sys.executable,
        "-P",
        "-m",
        "whyrank",
        *shlex.split(asked())[1:],
    ]  # -P: a whyrank.py in this folder is not run
    return subprocess.Popen(command, env=environment, stdout=silent, stderr=silent)


def _loopback_only() -> dict[str, str]:
    """What makes the processes listen on loopback; nothing where it has another name."""
    here = [name for _, name in socket.if_nameindex() if name in LOOPBACK]
    return dict.fromkeys(LISTEN_ON, here[0]) if here else {}
