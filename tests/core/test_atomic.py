"""Writes are whole or not at all: after errors, kills and full disks."""

import errno
import os
import resource
import signal
import subprocess
import sys
import time

import pytest

from whyrank.core.atomic import make_once, whole_file, write_text
from whyrank.core.errors import UserError


def left_over(folder):
    return sorted(path.name for path in folder.iterdir() if not path.name.endswith(".lock"))


def test_a_failed_write_leaves_the_old_file(tmp_path):
    target = tmp_path / "a.txt"
    write_text(target, "old")
    with pytest.raises(RuntimeError), whole_file(target) as partial:
        partial.write_text("half")
        raise RuntimeError
    assert target.read_text() == "old"
    assert left_over(tmp_path) == ["a.txt"]


def test_a_full_disk_is_one_clear_line_and_leaves_nothing(tmp_path):
    def make(folder):
        (folder / "half").write_text("x")
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(UserError, match="disk is full"):
        make_once(tmp_path / "model", make)
    assert left_over(tmp_path) == []
    make_once(tmp_path / "model", lambda folder: (folder / "whole").touch())
    assert left_over(tmp_path / "model") == ["whole"]


def test_a_file_that_may_not_grow_is_a_full_disk_too(tmp_path):
    """A real write that the system stops half-way."""

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    code = "from pathlib import Path; from whyrank.core.atomic import write_text; "
    code += f"write_text(Path({str(tmp_path / 'a')!r}), 'x' * 10000)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, preexec_fn=limit)
    assert "the disk is full" in done.stderr
    assert left_over(tmp_path) == []


def test_a_killed_process_leaves_nothing_that_the_next_one_minds(tmp_path):
    code = f"""
import time
from pathlib import Path
from whyrank.core.atomic import make_once
def make(folder):
    (folder / "half").touch()
    Path({str(tmp_path / "started")!r}).touch()
    time.sleep(60)
make_once(Path({str(tmp_path / "cache" / "model")!r}), make)
"""
    process = subprocess.Popen([sys.executable, "-c", code])
    while not (tmp_path / "started").exists():
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert not (tmp_path / "cache" / "model").exists()
    make_once(tmp_path / "cache" / "model", lambda folder: (folder / "whole").touch())
    assert left_over(tmp_path / "cache") == ["model"]
    assert left_over(tmp_path / "cache" / "model") == ["whole"]


def test_a_place_that_cannot_be_written_is_one_clear_line(tmp_path):
    def make(folder):
        raise OSError(errno.EROFS, "Read-only file system")

    with pytest.raises(UserError, match="cannot write here"):
        make_once(tmp_path / "model", make)
