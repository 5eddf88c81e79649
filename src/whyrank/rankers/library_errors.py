"""What other libraries make of a damaged checkpoint, as one line that names the folder or file.

transformers, tokenizers, safetensors and torch raise whatever they run into, and tokenizers' Rust code may panic,
which Python sees as an exception that `except Exception` does not catch. Only calls into those libraries stand in
this block: a mistake of ours must not be blamed on the checkpoint.
"""

from __future__ import annotations

import logging
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from pickle import UnpicklingError

from whyrank.core.errors import UserError

#: What to do about a pickle that holds more than weights.
SAFE = "save the weights as model.safetensors where you trust them"
#: Characters of a library's message that are shown.
SHOWN = 200


@contextmanager
def library_errors(what: str, where: Path, todo: str | None = None) -> Iterator[None]:
    """Whatever is raised in the block becomes a UserError: `where: what (the library's message); todo`."""
    try:
        with _quiet_libraries():
            yield
    except (UserError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        if isinstance(error, UnpicklingError):
            what, todo = f"{what}: this pickle would run code, or is damaged", SAFE
        raise UserError(f"{what} ({_one_line(error)})", where=where, todo=todo) from error


@contextmanager
def without_panic_messages() -> Iterator[None]:
    """Nothing is written to the screen in this block: Rust writes a page about a panic before Python sees it."""
    try:
        screen = os.dup(2)
    except OSError:  # there is none
        yield
        return
    sys.stderr.flush()
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    os.close(nowhere)
    try:
        yield
    finally:
        os.dup2(screen, 2)
        os.close(screen)


def _one_line(error: BaseException) -> str:
    """The kind of error and the beginning of what it says."""
    text = " ".join(str(error).split())
    named = text if " " in text else f"{type(error).__name__}: {text}" if text else type(error).__name__
    return named if len(named) <= SHOWN else f"{named[:SHOWN]}..."


@contextmanager
def _quiet_libraries() -> Iterator[None]:
    """Without transformers' advice on the screen: what is wrong is checked and said by us."""
    import transformers

    verbosity = transformers.logging.get_verbosity()
    transformers.logging.set_verbosity(logging.CRITICAL)
    transformers.logging.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        transformers.logging.set_verbosity(verbosity)
