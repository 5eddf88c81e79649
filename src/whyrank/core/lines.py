"""Text files line by line, gzip or plain, in constant memory, with the file and line named in every complaint.

A line is read in pieces and refused at `max_line()` bytes, so that a small gzip file cannot fill the memory.
"""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

from whyrank.core.errors import UserError
from whyrank.core.json_file import NotJson, parse_json

#: The environment variable with the most megabytes a line may have, which `whyrank --max-line` sets.
MAX_LINE = "WHYRANK_MAX_LINE"
#: Megabytes, where it is not set.
DEFAULT_MAX_LINE = 16
#: For a file of JSON lines that is something else.
JSON_LINES = "JSON lines are read here: one object {...} per line; no CSV, no table, no JSON list"


class Line(NamedTuple):
    """One line of a text file, without its line ending, and where it stands."""

    path: Path
    number: int
    text: str

    @property
    def where(self) -> str:
        return f"{self.path}:{self.number}"

    def wrong(self, what: str, todo: str | None = None) -> UserError:
        """The error to raise for this line."""
        return UserError(what, where=self.where, todo=todo)


def open_bytes(path: Path) -> IO[bytes]:
    """Opens a file for reading, unpacking it when its first bytes are gzip's, whatever its name."""
    try:
        file = path.open("rb")  # opened once, for a pipe cannot be opened twice
        packed = file.peek(2)[:2] == b"\x1f\x8b"
        return cast("IO[bytes]", gzip.open(file, "rb")) if packed else file
    except FileNotFoundError as error:
        raise UserError("no such file", where=path) from error
    except (IsADirectoryError, PermissionError) as error:
        raise UserError("cannot be read as a file", where=path) from error


def max_line() -> int:
    """The most bytes that a line, or a document in TREC mark-up, may have."""
    megabytes = os.environ.get(MAX_LINE) or str(DEFAULT_MAX_LINE)
    if not (megabytes.isascii() and megabytes.isdecimal() and 0 < int(megabytes) < 2**20):
        raise UserError(f"{MAX_LINE} is {megabytes!r}", todo=f"give megabytes, such as {DEFAULT_MAX_LINE}")
    return int(megabytes) * 2**20


def too_long(what: str, where: str) -> UserError:
    """The error for a line, or a block of lines, above the limit."""
    return UserError(
        f"{what} has more than {max_line() // 2**20} MB",
        where=where,
        todo=f"is the file damaged? If not, raise the limit: whyrank --max-line MB COMMAND ..., or {MAX_LINE}=MB",
    )


def read_lines(path: Path | str) -> Iterator[Line]:
    """The lines that are not blank."""
    return (line for line in every_line(path) if line.text.strip())


def every_line(path: Path | str) -> Iterator[Line]:
    """The lines. A file that is not UTF-8 or a damaged gzip is refused where it breaks, a line of more than
    `max_line()` bytes where it begins."""
    path, number, limit = Path(path), 0, max_line()
    with open_bytes(path) as file:
        try:
            for number, raw in enumerate(iter(partial(file.readline, limit + 1), b""), start=1):
                if len(raw) > limit:
                    raise too_long("this line", f"{path}:{number}")
                text = raw.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
                yield Line(path, number, text)
        except UnicodeDecodeError as error:
            raise UserError(
                f"not UTF-8 (byte {error.start + 1} of the line)",
                where=f"{path}:{number}",
                todo="convert the file, for example with iconv -f latin1 -t utf-8",
            ) from error
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise UserError("damaged gzip file", where=path, todo="fetch it again") from error


def read_json_lines(path: Path | str) -> Iterator[tuple[Line, dict[str, Any]]]:
    """Each line with the JSON object it holds."""
    for line in read_lines(path):
        try:
            value = parse_json(line.text)
        except NotJson as error:
            looks_right = line.text.lstrip().startswith("{")
            raise line.wrong(str(error), None if looks_right else JSON_LINES) from error
        if not isinstance(value, dict):
            raise line.wrong("a JSON object is expected", JSON_LINES)
        yield line, value
