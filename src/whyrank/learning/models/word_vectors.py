"""Word vectors out of a text file, as word2vec and GloVe write them, and vectors for words that no file has.

A line is a word and its numbers, with spaces between them; word2vec's first line, of two counts, is passed over.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Container, Iterable
from itertools import chain
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from whyrank.core.errors import UserError
from whyrank.core.lines import Line, read_lines

#: For every line that is wrong.
FORMAT = "a line is a word and its numbers, with spaces between them, as many on each line"


def read_vectors(path: Path | str, wanted: Container[str] | None = None) -> dict[str, Tensor]:
    """Lower-cased word -> its vector [d], of all words or the wanted ones, in the file's order.

    Of two lines for one word the first counts: such files begin with what is frequent. Numbers are read, and must
    be finite, where the word is wanted; on the other lines they are only counted.
    """
    lines = iter(read_lines(path))
    first = next(lines, None)
    if first is None:
        raise UserError("no word vector in this file", where=path, todo=FORMAT)
    if not _is_header(first):
        lines = chain([first], lines)
    return _vectors(lines, Path(path), wanted)


def _vectors(lines: Iterable[Line], path: Path, wanted: Container[str] | None) -> dict[str, Tensor]:
    found: dict[str, Tensor] = {}
    size = None
    for line in lines:
        fields = _fields(line)
        size = len(fields) - 1 if size is None else size
        word = _word(line, fields, size).lower()
        if word not in found and (wanted is None or word in wanted):
            found[word] = _numbers(line, fields[-size:])
    if not found:
        whose = "no word vector in this file" if wanted is None else "no word of the collection is in this file"
        raise UserError(whose, where=path, todo=FORMAT)
    return found


def _is_header(line: Line) -> bool:
    fields = _fields(line)
    return len(fields) == 2 and all(field.isdecimal() for field in fields)


def _fields(line: Line) -> list[str]:
    """Some words of these files hold a space of another kind, so only plain ones and tabs divide."""
    return line.text.replace("\t", " ").rstrip(" ").split(" ")


def _word(line: Line, fields: list[str], size: int) -> str:
    """What stands before the numbers; GloVe's largest file has a few `words` with spaces in them."""
    if size < 1 or len(fields) <= size or (len(fields) > size + 1 and _is_number(fields[1])):
        told = f"{len(fields) - 1} number{'s' * (len(fields) != 2)} after the word"
        raise line.wrong(told + (f", not {size} as before" if size > 0 else ""), FORMAT)
    return " ".join(fields[:-size])


def _is_number(field: str) -> bool:
    """In plain digits: Python would read 1_000 and １, too."""
    try:
        float(field)
    except ValueError:
        return False
    return field.isascii() and "_" not in field


def _numbers(line: Line, fields: list[str]) -> Tensor:
    wrong = next((field for field in fields if not _is_number(field) or not math.isfinite(float(field))), None)
    if wrong is not None:
        raise line.wrong(f"'{wrong[:40]}' is not a finite number", FORMAT)
    return torch.tensor([float(field) for field in fields])


def stranger(word: str, size: int) -> Tensor:
    """The unit vector [d] of a word that no file has: a hash of its letters, the same everywhere and always.

    Two such words are about orthogonal, as words that have nothing to do with each other are.
    """
    raw = hashlib.shake_256(word.encode("utf-8", "surrogatepass")).digest(2 * size)
    numbers = np.frombuffer(raw, dtype="<u2").astype(np.float64) / 65535 - 0.5
    return torch.from_numpy(numbers / np.linalg.norm(numbers)).float()
