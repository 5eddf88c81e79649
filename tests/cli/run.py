"""The command line in a process of its own."""

import os
import subprocess
import sys


def whyrank(*arguments, cwd=None, **environment):
    """Runs a command; returns what it printed and how it exited."""
    return subprocess.run(
        [sys.executable, "-m", "whyrank", *map(str, arguments)],
        capture_output=True, text=True, cwd=cwd, env={**os.environ, **environment}, timeout=300,
    )  # fmt: skip


def one_line(done):
    """The complaint of a command that refused its input."""
    assert done.returncode == 2, done.stderr
    complaints = [line for line in done.stderr.splitlines() if line.startswith("whyrank: ")]
    assert len(complaints) == 1
    assert "Traceback" not in done.stderr
    return complaints[0]


def whyrank_here(*arguments):
    """Runs a command in this process, which is faster; raises the UserError that `whyrank` would print."""
    from whyrank.cli.app import app

    return app([str(one) for one in arguments], prog_name="whyrank", standalone_mode=False)
