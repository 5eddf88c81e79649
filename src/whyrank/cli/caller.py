"""The command line as a caller: what was typed, bars and lines on stderr."""

from __future__ import annotations

import shlex
from contextvars import ContextVar
from typing import Any

from typer.core import TyperGroup

from whyrank.cli.console import progress_bar, say
from whyrank.core.caller import Caller

_asked: ContextVar[str] = ContextVar("asked", default="whyrank")


class Commands(TyperGroup):
    """The group of all commands; it remembers the words that it was called with."""

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        if parent is None:
            _asked.set(shlex.join(["whyrank", *args]))
        return super().make_context(info_name, args, parent, **extra)


def asked() -> str:
    """The command line that is being carried out."""
    return _asked.get()


def terminal() -> Caller:
    """What a command passes to its verb."""
    return Caller(asked(), progress_bar, say)
