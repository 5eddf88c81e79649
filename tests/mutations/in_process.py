"""The command line in this process, so that a thousand commands cost a minute: no import of torch for each."""

from __future__ import annotations

import logging
import os
import signal
import sys
import tempfile
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import typer.main

#: Seconds after which a command counts as hung.
LONGEST = 60
#: Typer's own.
MAKE = typer.main.get_command


@dataclass(frozen=True)
class Ended:
    """How a command ended: its exit code (1 with a traceback for any exception), what it wrote to where."""

    code: int
    stdout: str
    stderr: str
    traceback: str | None = None


class Hung(BaseException):
    """A command that does not end."""


def run(arguments: list[str], folder: Path, seconds: int = LONGEST) -> Ended:
    """Runs `whyrank ARGUMENTS` in a folder."""
    from whyrank.cli.app import main

    before, argv, failed = Path.cwd(), sys.argv, None
    logging.getLogger("whyrank").handlers.clear()  # it writes to the stderr of its first command
    with _captured() as said:
        os.chdir(folder)
        sys.argv = ["whyrank", *arguments]
        try:
            with _limited(seconds), _warnings_on_the_screen(), _parser_made_once():
                main()
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
        except BaseException:
            code, failed = 1, traceback.format_exc()
        finally:
            os.chdir(before)
            sys.argv = argv
    return Ended(code, *said, failed)


@contextmanager
def _captured() -> Iterator[list[str]]:
    """What is written to stdout and to stderr, by Python and by libraries beneath it, once the block has ended."""
    said: list[str] = []
    with tempfile.TemporaryFile("w+b") as out, tempfile.TemporaryFile("w+b") as err:
        saved = [(stream, os.dup(number), number) for stream, number in ((sys.stdout, 1), (sys.stderr, 2))]
        sys.stdout.flush()
        sys.stderr.flush()
        os.dup2(out.fileno(), 1)
        os.dup2(err.fileno(), 2)
        sys.stdout, sys.stderr = (os.fdopen(os.dup(n), "w", encoding="utf-8") for n in (1, 2))
        try:
            yield said
        finally:
            for stream in (sys.stdout, sys.stderr):
                stream.close()
            (sys.stdout, *_), (sys.stderr, *_) = saved
            for _, copy, number in saved:
                os.dup2(copy, number)
                os.close(copy)
            said += [_text(out), _text(err)]


@contextmanager
def _warnings_on_the_screen() -> Iterator[None]:
    """As Python shows them by default, every time, also where a test runner collects them."""

    def show(message: Any, category: Any, filename: str, lineno: int, file: Any = None, line: Any = None) -> None:
        sys.stderr.write(warnings.formatwarning(message, category, filename, lineno, line))

    with warnings.catch_warnings():
        warnings.resetwarnings()
        warnings.simplefilter("always")
        for quiet in (ResourceWarning, DeprecationWarning, PendingDeprecationWarning, ImportWarning):
            warnings.simplefilter("ignore", quiet)
        warnings.showwarning = show
        yield


@contextmanager
def _parser_made_once() -> Iterator[None]:
    """Typer makes the parser of all commands anew for each call, which takes longer than most commands here."""
    with mock.patch("typer.main.get_command", _command):
        yield


@cache
def _command(app: Any) -> Any:
    return MAKE(app)


@contextmanager
def _limited(seconds: int) -> Iterator[None]:
    """Raises Hung inside of the block when it takes longer."""

    def stop(*_: object) -> None:
        raise Hung(f"no end after {seconds} seconds")

    known = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, known)


def _text(file: Any) -> str:
    file.seek(0)
    return file.read().decode("utf-8", errors="replace")
