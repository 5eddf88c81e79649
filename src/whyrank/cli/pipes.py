"""stdout and stderr whose reader may go away, as in `whyrank eval ... | head`.

A write to a closed pipe is no error here: what would have been printed goes nowhere, and the command ends as it
would have ended, with everything written to its run folder and exit code 0.
"""

from __future__ import annotations

import io
import os
import sys
from typing import Any, TextIO


class _Descriptor(io.FileIO):
    """A file descriptor that, once nobody reads it, is that of the null device."""

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.fileno())
            os.close(nowhere)
            return len(data)


def survive_closed_pipes() -> None:
    """Makes this process's stdout and stderr such streams, where they are the process's own."""
    if sys.stdout is sys.__stdout__ and sys.stdout is not None:
        sys.stdout = _without_errors(sys.stdout, line_buffering=sys.stdout.isatty())
    if sys.stderr is sys.__stderr__ and sys.stderr is not None:
        sys.stderr = _without_errors(sys.stderr, line_buffering=True)


def _without_errors(stream: TextIO, line_buffering: bool) -> TextIO:
    stream.flush()
    raw = _Descriptor(stream.fileno(), "w", closefd=False)
    return io.TextIOWrapper(
        io.BufferedWriter(raw), encoding=stream.encoding, errors=stream.errors, line_buffering=line_buffering
    )
