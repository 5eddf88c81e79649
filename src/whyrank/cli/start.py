"""Where `whyrank` begins: signals first, for the rest takes a tenth of a second to load and more."""

import _signal  # type: ignore[import-not-found] # the built-in part of `signal`, which takes 20 ms to load


def main() -> None:
    """The command line. Nothing else may be imported above, so that Ctrl-C never ends in a traceback of ours."""
    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)  # until `stop_cleanly`, it just ends the process
    from whyrank.cli.stop import end_now, stop_cleanly

    try:
        stop_cleanly()
        from whyrank.cli.app import main as commands

        commands()
    except KeyboardInterrupt:  # before the command line could catch it
        end_now()
