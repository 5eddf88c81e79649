"""The application that commands join; each file of this package that has one is found by itself.

from whyrank.cli.commands import app

@app.command("audit")
def audit(...) -> None:
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import typer
from typer.core import TyperGroup

from whyrank import cli
from whyrank.cli.caller import remember_words

#: The order of the help: what is done first stands first; a command that is not named here comes after these.
ORDER = (
    "demo", "get", "rank", "eval", "diff", "explain", "attention", "pairs", "audit",
    "patch", "circuit", "semantic-bm", "idf", "edit", "suppress", "align", "export", "finetune", "train", "study",
)  # fmt: skip


class Commands(TyperGroup):
    """The group of all commands; it remembers the words that it was called with."""

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        if parent is None:
            remember_words(args)
        return super().make_context(info_name, args, parent, **extra)

    def list_commands(self, ctx: Any) -> list[str]:
        return sorted(super().list_commands(ctx), key=lambda name: (place(name), name))


def place(name: str) -> int:
    """Where a command stands in the help."""
    return ORDER.index(name) if name in ORDER else len(ORDER)


app = typer.Typer(
    cls=Commands,
    help="A causal workbench for neural rankers: does it behave, why this score, can I change it?",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    epilog="Start with: whyrank demo",
)


def import_commands() -> None:
    """Imports every file of this package, so that its commands join."""
    for module in iter_modules(cli.__path__, f"{cli.__name__}."):
        import_module(module.name)
