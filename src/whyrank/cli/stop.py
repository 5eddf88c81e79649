"""Ctrl-C, at any moment."""

from __future__ import annotations

import os
import signal
from types import FrameType

#: The exit code of a command stopped from the keyboard.
STOPPED = 130
MESSAGE = "stopped; the same command again goes on where it can"
#: What a frame of Python's import machinery calls its file.
IMPORTING = "<frozen importlib._bootstrap>"


def stop_cleanly() -> None:
    """Ctrl-C raises KeyboardInterrupt, but while a module loads it ends the process there and then.

    The C++ of torch aborts when the exception arrives during its import, and numpy swallows it and cannot be
    loaded again. A signal that is ignored (a job in the background) stays ignored.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _stop)


def _stop(_: int, frame: FrameType | None) -> None:
    if _importing(frame):
        os.write(2, f"whyrank: {MESSAGE}\n".encode())
        os._exit(STOPPED)
    raise KeyboardInterrupt


def _importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename == IMPORTING:
            return True
        frame = frame.f_back
    return False
