"""Settings by name: values from a command line, a TOML file or a saved config, checked for what is expected."""

from __future__ import annotations

import re
import types
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from whyrank.core.errors import UserError, located, nearest, quoted

#: A value of a setting.
Setting = str | int | float | bool | None
S = TypeVar("S")
TRUE, FALSE = ("true", "yes", "on", "1"), ("false", "no", "off", "0")
#: Whole numbers are no larger than this, texts no longer.
LARGEST, LONGEST = 2**31 - 1, 1000
#: A number in a text, as everybody writes it: no `1_000`, no digits of other scripts.
_NUMBER = re.compile(r"\s*[+-]?[0-9.]+([eE][+-]?[0-9]+)?\s*", re.ASCII)
#: What no name or path of one line holds.
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff]")
#: How to write nothing where nothing is a value.
NOTHING = "none"


class _Unfit(Exception):
    """A value that is not of the type expected."""


def names_of(kind: type) -> list[str]:
    """The settings that a dataclass has."""
    return [field.name for field in fields(kind)]


def settings_of(kind: type[S], given: Mapping[str, Any], where: str | Path | None = None) -> S:
    """A dataclass of settings from values by name, texts or typed; what is not given keeps its default."""
    known = names_of(kind)
    hints = get_type_hints(kind)
    for name in given:
        if name not in known:
            raise UserError(f"no setting is called '{name}'", where=where, todo=nearest(name, known))
    values = {name: typed(name, value, hints[name], where) for name, value in given.items()}
    with located(where):
        return kind(**values)


def typed(name: str, value: Any, hint: Any, where: str | Path | None = None) -> Any:
    """A value as its type; refused with what was expected."""
    try:
        return _as(value, hint)
    except _Unfit:
        raise UserError(f"{name} is {quoted(value)}", where=where, todo=f"it must be {_expected(hint)}") from None


def _as(value: Any, hint: Any) -> Any:
    """The value as its type, or _Unfit."""
    origin, inside = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return _as_one_of(value, inside)
    if origin is tuple:
        parts = _split(value) if isinstance(value, str) else value
        if not isinstance(parts, list | tuple):
            raise _Unfit
        return tuple(_as(part.strip() if isinstance(part, str) else part, inside[0]) for part in parts)
    return _as_plain(value, hint)


def _split(text: str) -> list[str]:
    """The parts between commas; a comma inside brackets parts nothing: `nDCG(dcg='exp-log2',cutoff=5),P@20`."""
    depth, parts = 0, [""]
    for sign in text:
        depth += (sign in "([{") - (sign in ")]}")
        if sign == "," and depth <= 0:
            parts.append("")
        else:
            parts[-1] += sign
    return parts


def _as_one_of(value: Any, hints: tuple[Any, ...]) -> Any:
    if value is None or (isinstance(value, str) and value.lower() == NOTHING and type(None) in hints):
        if type(None) in hints:
            return None
        raise _Unfit
    for hint in (one for one in hints if one is not type(None)):
        try:
            return _as(value, hint)
        except _Unfit:
            continue
    raise _Unfit


def _as_plain(value: Any, hint: Any) -> Any:
    if hint is bool:
        text = value.lower() if isinstance(value, str) else str(value).lower() if isinstance(value, int) else ""
        if text not in (*TRUE, *FALSE):
            raise _Unfit
        return text in TRUE
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise _Unfit
    if hint is str:
        return _as_text(value)
    if hint is int and isinstance(value, float):
        raise _Unfit
    if isinstance(value, str) and not _NUMBER.fullmatch(value):
        raise _Unfit
    try:
        number = hint(value)
    except (ValueError, OverflowError):
        raise _Unfit from None
    if hint is int and abs(number) > LARGEST:
        raise _Unfit
    return number


def _as_text(value: Any) -> str:
    """A text of one line that can be a name or a path: not empty, without control characters, not too long."""
    if not isinstance(value, str) or not value.strip() or len(value) > LONGEST or _CONTROL.search(value):
        raise _Unfit
    return value


def _expected(hint: Any) -> str:
    """The type in words."""
    origin, inside = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return " or ".join(_expected(one) for one in inside)
    if origin is tuple:
        return f"{_expected(inside[0])}, or several with commas between them"
    words = {bool: "true or false", int: "a whole number", float: "a number", str: "text", type(None): NOTHING}
    return words.get(hint, str(hint))


def one_of(name: str, value: str, choices: Sequence[str]) -> None:
    """Raises unless the value is one of the choices."""
    if value not in choices:
        raise UserError(f"{name} cannot be {value!r}", todo=f"choose of {', '.join(choices)}")


def share(name: str, value: float) -> None:
    """Raises unless 0 <= value < 1."""
    if not 0 <= value < 1:
        raise UserError(f"{name} cannot be {value}", todo="give a share from 0 up to, and not including, 1")


def part(name: str, value: float) -> None:
    """Raises unless 0 < value <= 1."""
    if not 0 < value <= 1:
        raise UserError(f"{name} cannot be {value}", todo="give a number above 0, up to and including 1")
