"""Work that is kept in case of a kill: each piece a file that says what it is the result of, with a checksum.

A piece that is missing, damaged, or the result of other inputs or other versions is simply not there: its maker
makes it again. One line of JSON (`key`, `sha256`, `bytes`) stands before the content.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from whyrank.core.atomic import whole_file
from whyrank.core.json_file import NotJson, parse_json
from whyrank.core.version import versions

#: Bytes of the longest first line.
LONGEST_HEADER = 1024


@dataclass(frozen=True)
class Header:
    """What stands before a content."""

    key: str
    sha256: str
    bytes: int


def content_key(*inputs: Any) -> str:
    """A hash of everything that a piece of work depends on, given as JSON values; versions are always among it."""
    return hashlib.sha256(json.dumps([versions(), *inputs], sort_keys=True).encode()).hexdigest()


def keep(path: Path, key: str, content: bytes) -> None:
    """Writes a piece, whole or not at all."""
    header = {"key": key, "sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
    with whole_file(path) as partial, partial.open("wb") as file:
        file.write(json.dumps(header).encode() + b"\n")
        file.write(content)


def kept(path: Path, key: str) -> bytes | None:
    """The content, if it is there, as it was written, and of this key."""
    try:
        with path.open("rb") as file:
            header = parse_json(file.readline(LONGEST_HEADER), Header)
            if header.key != key:
                return None
            content = file.read()
    except (OSError, NotJson):
        return None
    whole = len(content) == header.bytes and hashlib.sha256(content).hexdigest() == header.sha256
    return content if whole else None


def keep_json(path: Path, key: str, value: Any) -> None:
    """The same for a JSON value; a number that JSON does not know is refused."""
    keep(path, key, json.dumps(value, allow_nan=False).encode())


def kept_json(path: Path, key: str, kind: Any = object) -> Any:
    """The value, or None when it is not there (so None itself cannot be kept)."""
    content = kept(path, key)
    return None if content is None else parse_json(content, kind)
