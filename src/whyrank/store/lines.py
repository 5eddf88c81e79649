"""Text files line by line, gzip or plain, in constant memory, with the file and line named in every complaint."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

from whyrank.errors import UserError


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


def read_lines(path: Path | str) -> Iterator[Line]:
    """The lines that are not blank. A file that is not UTF-8 or a damaged gzip is refused where it breaks."""
    path, number = Path(path), 0
    with open_bytes(path) as file:
        try:
            for number, raw in enumerate(file, start=1):
                text = raw.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
                if text.strip():
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
            value = json.loads(line.text)
        except ValueError as error:
            raise line.wrong(f"not JSON ({error})") from error
        if "\\u" in line.text and any("\ud800" <= c <= "\udfff" for c in json.dumps(value, ensure_ascii=False)):
            raise line.wrong("half a character (a lone surrogate \\ud800 to \\udfff)", "write the character whole")
        if not isinstance(value, dict):
            raise line.wrong("a JSON object is expected", "one object {...} a line")
        yield line, value
