"""A command run in several processes of this machine that know of each other, as torchrun would start them."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from importlib.util import find_spec

from whyrank.errors import UserError

#: Seconds that the first process, which speaks for all, has to end by itself when another has failed.
GRACE = 10.0


def run_in_processes(count: int) -> int:
    """Runs this same command line in so many processes; gives the exit code: 0, or that of one that failed."""
    if find_spec("accelerate") is None:
        raise UserError("several processes need accelerate", todo="install it: pip install 'whyrank[train]'")
    port = _free_port()
    running = [_start(number, count, port) for number in range(count)]
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


def _start(number: int, count: int, port: int) -> subprocess.Popen[bytes]:
    """The cores are shared out, unless the environment says how many threads each has."""
    about = {
        "RANK": number, "LOCAL_RANK": number, "WORLD_SIZE": count, "LOCAL_WORLD_SIZE": count,
        "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port,
    }  # fmt: skip
    threads = {"OMP_NUM_THREADS": str(max(1, (os.cpu_count() or 1) // count))}
    environment = {**threads, **os.environ, **{name: str(value) for name, value in about.items()}}
    silent = None if number == 0 else subprocess.DEVNULL
    command = [sys.executable, "-P", "-m", "whyrank", *sys.argv[1:]]  # -P: a whyrank.py in this folder is not run
    return subprocess.Popen(command, env=environment, stdout=silent, stderr=silent)


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
