"""JSON at the border: every file and line of it that others wrote comes in through here, checked and typed.

    about = read_json(folder / "whyrank.json", About)      # a dataclass, dict[str, str], list[int], ...

What is refused, in one line that names the file and the field: text that is not UTF-8 or not JSON, NaN and
Infinity (not JSON, though Python reads them), numbers that overflow, an object with the same key twice, half a
character, nesting deeper than `DEEPEST`, files larger than `LARGEST`, and values of another type than the caller
asked for.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import msgspec

from whyrank.core.errors import UserError

#: Levels of nesting; what we read has a dozen at most.
DEEPEST = 100
#: Bytes of a JSON file; the largest tokenizers have 35 MB.
LARGEST = 256 * 2**20
TOO_DEEP = f"nested more than {DEEPEST} levels deep"


class NotJson(ValueError):
    """Text that is not the JSON that was asked for: the reason, without the place."""


def read_json(path: Path | str, kind: Any = object, *, todo: str | None = None) -> Any:
    """The file's value, as `kind`: a dataclass, `dict[str, float]`, ...; fields that it lacks are ignored."""
    path = Path(path)
    try:
        if path.stat().st_size > LARGEST:
            raise UserError(f"a JSON file of more than {LARGEST // 2**20} MB", where=path, todo=todo)
        text = path.read_bytes()
    except FileNotFoundError as error:
        raise UserError("no such file", where=path, todo=todo) from error
    except OSError as error:
        raise UserError(f"cannot be read ({error.strerror})", where=path, todo=todo) from error
    try:
        return parse_json(text, kind)
    except NotJson as error:
        raise UserError(str(error), where=path, todo=todo) from error


def parse_json(text: str | bytes, kind: Any = object) -> Any:
    """The value of a JSON text, as `kind`; `NotJson` says what is wrong with it."""
    try:
        text = text.decode("utf-8-sig") if isinstance(text, bytes) else text
        value = DECODER.decode(text)
    except NotJson:
        raise
    except UnicodeDecodeError as error:
        raise NotJson(f"not UTF-8 (byte {error.start + 1})") from error
    except RecursionError as error:
        raise NotJson(TOO_DEEP) from error
    except ValueError as error:
        raise NotJson(f"not JSON ({error})") from error
    if text.count("[") + text.count("{") > DEEPEST and _depth(value) > DEEPEST:
        raise NotJson(TOO_DEEP)
    if "\\u" in text and any("\ud800" <= c <= "\udfff" for c in json.dumps(value, ensure_ascii=False)):
        raise NotJson("half a character (a lone surrogate \\ud800 to \\udfff); write the character whole")
    return typed(value, kind)


def typed(value: Any, kind: Any) -> Any:
    """A parsed value as `kind`, checked field by field."""
    if kind is object or kind is Any:
        return value
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        what, _, place = str(error).partition(" - at `$")
        field = place.rstrip("`").lstrip(".")
        raise NotJson(f"field {field}: {_lower(what)}" if field else _lower(what)) from error
    except RecursionError as error:
        raise NotJson(TOO_DEEP) from error


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:].replace("`", "")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise NotJson(f"the key {json.dumps(twice)} stands twice in one object")
    return found


def _constant(name: str) -> Any:
    raise NotJson(f"{name} is not a number that JSON knows")


def _float(text: str) -> float:
    """JSON allows 1e999, which no float holds."""
    value = float(text)
    if math.isinf(value):
        raise NotJson(f"the number {text[:20]} is too large")
    return value


def _depth(value: Any) -> int:
    """Levels of objects and arrays in a parsed value."""
    depth, level = 0, [value]
    while level := [one for one in level if isinstance(one, dict | list)]:
        depth += 1
        level = [inner for one in level for inner in (one.values() if isinstance(one, dict) else one)]
    return depth


#: Made once: a decoder per line would take as long as the line.
DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant, parse_float=_float)
