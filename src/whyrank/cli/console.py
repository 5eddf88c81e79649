"""What commands say, and how: results on stdout, everything about the work on stderr."""

from __future__ import annotations

import logging
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    from whyrank.core.progress import Progress as Advance
    from whyrank.core.results import Result

#: Letters of a complaint; of a longer one the beginning and the end are shown.
LONGEST = 1500


def say(text: str) -> None:
    """A line about the work, at once."""
    print(text, file=sys.stderr, flush=True)


def complain(text: str) -> None:
    """One line about what went wrong, whatever an input has put into it."""
    line = " ".join(text.split())
    cut = f"{line[: LONGEST // 2]} ... {line[-LONGEST // 2 :]}" if len(line) > LONGEST else line
    say(f"whyrank: {cut}")


def suggest(*commands: str) -> None:
    """The commands that make sense next."""
    say("\nNext:")
    for command in commands:
        say(f"  {command}")


def command(*words: object) -> str:
    """A whyrank command as it can be pasted into a shell."""
    return shlex.join(["whyrank", *map(str, words)])


def show_log() -> None:
    """Notes of the library (downloads) are lines about the work."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(message)s"))
    logger = logging.getLogger("whyrank")
    logger.setLevel(logging.INFO)
    if not logger.handlers:
        logger.addHandler(handler)


def console() -> Console:
    """For tables on stdout."""
    from rich.console import Console

    return Console(highlight=False, markup=False, width=None if sys.stdout.isatty() else 120)


def print_json(result: Result) -> None:
    """The result as JSON on stdout."""
    print_plain(result.to_json())


def print_plain(value: object) -> None:
    """Dataclasses, dictionaries, lists as JSON on stdout."""
    import json

    from whyrank.core.results import plain

    print(json.dumps(plain(value), indent=2, allow_nan=False))


@contextmanager
def progress_bar(what: str, total: int, unit: str = "pairs") -> Iterator[Advance]:
    """A bar with the rate; yields the function that moves it on. Only the last line is kept in a log file."""
    with _columns(unit) as bar:
        task = bar.add_task(what, total=total)
        yield lambda count: bar.advance(task, count)


def _columns(unit: str) -> Progress:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        Task,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text

    class Rate(ProgressColumn):
        """All that is done by all the time it took: parts are too large for a rate of the last moments."""

        def render(self, task: Task) -> Text:
            seconds = task.finished_time or task.elapsed
            speed = task.completed / seconds if seconds else 0.0
            return Text(f"{speed:.{0 if speed >= 10 else 1}f} {unit}/s" if speed else "", style="cyan")

    return Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), Rate(), TimeRemainingColumn(),
        console=Console(file=sys.stderr),
    )  # fmt: skip
