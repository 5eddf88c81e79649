"""Ctrl-C, SIGTERM and SIGHUP, at any moment: one line, the exit code of the signal, and no child left behind."""

from __future__ import annotations

import os
import signal
from types import FrameType
from typing import NoReturn

MESSAGE = "stopped; the same command again goes on where it can"
#: What a shell says of a process that a signal ended: 128 and the signal's number.
SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
#: What a frame of Python's import machinery calls its file.
IMPORTING = "<frozen importlib._bootstrap>"


class Stopped(KeyboardInterrupt):
    """Raised where the command is when a signal arrives; everything on the way out cleans up after itself."""

    def __init__(self, number: int = signal.SIGINT) -> None:
        super().__init__()
        self.code = 128 + number


_received: list[Stopped] = []


def stop_cleanly() -> None:
    """Signals raise `Stopped`, but while a module loads they end the process there and then.

    The C++ of torch aborts when an exception arrives during its import, and numpy swallows it and cannot be loaded
    again. A signal that is ignored (a job in the background, nohup) stays ignored.
    """
    for number in SIGNALS:
        if signal.getsignal(number) in (signal.default_int_handler, signal.SIG_DFL):
            signal.signal(number, _stop)


def exit_code() -> int:
    """The exit code of the signal that arrived, of Ctrl-C if Python itself raised the interrupt."""
    return _received[0].code if _received else 128 + signal.SIGINT


def was_stopped() -> bool:
    """Whether a signal arrived, whoever caught what it raised."""
    return bool(_received)


def end_now() -> NoReturn:
    """Ends the process without a look back."""
    os.write(2, f"whyrank: {MESSAGE}\n".encode())
    os._exit(exit_code())


def _stop(number: int, frame: FrameType | None) -> None:
    stopped = Stopped(number)
    _received.append(stopped)
    if _importing(frame):
        end_now()
    raise stopped


def _importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename == IMPORTING:
            return True
        frame = frame.f_back
    return False
