"""The command line as a caller: what was typed, bars and lines on stderr."""

from __future__ import annotations

import shlex
from contextvars import ContextVar

from whyrank.cli.console import progress_bar, say
from whyrank.core.caller import Caller

_asked: ContextVar[str] = ContextVar("asked", default="whyrank")


def remember_words(words: list[str]) -> None:
    """Keeps what was typed after `whyrank`."""
    _asked.set(shlex.join(["whyrank", *words]))


def asked() -> str:
    """The command line that is being carried out."""
    return _asked.get()


def terminal() -> Caller:
    """What a command passes to its verb."""
    return Caller(asked(), progress_bar, say)
