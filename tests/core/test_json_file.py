"""The one reader of JSON: what it takes, and that everything else is one line that names file and field."""

import json
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from whyrank.core.errors import UserError
from whyrank.core.json_file import DEEPEST, NotJson, parse_json, read_json


@dataclass(frozen=True)
class About:
    kind: str
    lengths: dict[str, list[int]] = field(default_factory=dict)
    normalise: bool = True


def test_a_value_comes_typed_and_fields_that_nobody_asked_for_are_ignored(tmp_path: Path):
    path = tmp_path / "about.json"
    path.write_text('\ufeff{"kind": "x", "lengths": {"a": [1]}, "more": NULL}'.replace("NULL", "null"))
    assert read_json(path, About) == About("x", {"a": [1]})
    assert read_json(path) == {"kind": "x", "lengths": {"a": [1]}, "more": None}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "not JSON"),
        ("", "not JSON"),
        ("[1]", "expected object, got array"),
        ("null", "expected object, got null"),
        ('{"kind": 7}', "field kind: expected str, got int"),
        ('{"kind": "x", "normalise": "false"}', "field normalise: expected bool, got str"),
        ('{"kind": "x", "lengths": {"a": [1.9]}}', "field lengths[...][0]: expected int, got float"),
        ('{"kind": "x", "kind": "y"}', 'the key "kind" stands twice'),
        ('{"kind": NaN}', "NaN is not a number that JSON knows"),
        ('{"kind": "x", "more": -Infinity}', "-Infinity is not a number"),
        ('{"kind": "x", "more": [-1e999]}', "the number -1e999 is too large"),
        ('{"kind": "\\ud800"}', "half a character"),
        ("[" * 5000 + "]" * 5000, "nested more than"),
        ("[" * (DEEPEST + 1) + "]" * (DEEPEST + 1), "nested more than"),
        ('{"kind": ' + "9" * 5000 + "}", "not JSON"),
    ],
)
def test_anything_else_is_refused_in_one_line_with_the_file(tmp_path: Path, text: str, says: str):
    path = tmp_path / "about.json"
    path.write_text(text)
    with pytest.raises(UserError) as refused:
        read_json(path, About, todo="write it again")
    assert says in str(refused.value)
    assert str(refused.value).startswith(f"{path}: ")
    assert str(refused.value).endswith("; write it again")
    assert "\n" not in str(refused.value)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path):
    (tmp_path / "latin").write_bytes(b'{"kind": "\xe9"}')
    for name, says in (("latin", "not UTF-8 (byte 11)"), ("none", "no such file"), (".", "cannot be read")):
        with pytest.raises(UserError, match=says.replace("(", r"\(").replace(")", r"\)")):
            read_json(tmp_path / name, About)


def test_deep_but_not_too_deep_and_wide_are_read():
    assert parse_json("[" * DEEPEST + "]" * DEEPEST)
    wide = json.dumps([[1]] * 5000)
    assert parse_json(wide, list[list[int]]) == [[1]] * 5000


def test_a_line_is_refused_without_a_place():
    with pytest.raises(NotJson, match="expected int, got str"):
        parse_json('"a"', int)
