"""Where `whyrank` begins: signals first, for the rest takes a tenth of a second to load and more."""

from __future__ import annotations


def main() -> None:
    """The command line. Nothing may be imported above this line, so that Ctrl-C is caught from the start."""
    from whyrank.cli.stop import stop_cleanly

    stop_cleanly()
    from whyrank.cli.app import main as commands

    commands()
