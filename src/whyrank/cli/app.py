"""`whyrank`: the commands, and what becomes of their errors."""

from __future__ import annotations

import os
import sys
from typing import Annotated, Any

import typer

from whyrank import __version__
from whyrank.cli.commands import app, import_commands
from whyrank.cli.console import complain, show_log
from whyrank.cli.pipes import survive_closed_pipes
from whyrank.cli.stop import MESSAGE, exit_code, was_stopped
from whyrank.core.atomic import disk_error
from whyrank.core.errors import UserError
from whyrank.core.lines import DEFAULT_MAX_LINE, MAX_LINE

import_commands()

BUG = "this is a bug of whyrank, not your mistake; please report it with what follows"
#: What typer raises for a wrong call; its own copy of click keeps the name private.
UsageError: Any = typer.BadParameter.__bases__[0]


def _show_version(asked: bool) -> None:
    if asked:
        print(f"whyrank {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and stop.")
    ] = False,
    max_line: Annotated[
        int,
        typer.Option(
            envvar=MAX_LINE, min=1, max=2**20 - 1, help="The most megabytes that a line of an input may have."
        ),
    ] = DEFAULT_MAX_LINE,
) -> None:
    os.environ[MAX_LINE] = str(max_line)


def main() -> None:
    """Exit 0: done; 2: the user's mistake, in one line; 1: our bug; 130, 143, 129: stopped by a signal."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    survive_closed_pipes()
    show_log()
    try:
        code = app(prog_name="whyrank", standalone_mode=False) or 0
        if was_stopped():
            raise KeyboardInterrupt
        sys.exit(code)
    except UserError as error:
        complain(str(error))
        sys.exit(2)
    except UsageError as error:
        _explain_usage(error)
        sys.exit(2)
    except OSError as error:
        on_disk = disk_error(error)
        if on_disk is None:
            complain(BUG)
            raise
        complain(str(on_disk))
        sys.exit(2)
    except (KeyboardInterrupt, typer.Abort):
        complain(MESSAGE)
        sys.exit(exit_code())
    except Exception:
        complain(BUG)
        raise


def _explain_usage(error: Exception) -> None:
    """One line: what is wrong with the call, and where to look. A bare `whyrank` shows the help instead."""
    context = getattr(error, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError":
        print(error.format_message() if hasattr(error, "format_message") else error)
        return
    command = context.command_path if context else "whyrank"
    what = error.format_message() if hasattr(error, "format_message") else str(error)
    complain(f"{what.rstrip('.')}; see '{command} --help'")
