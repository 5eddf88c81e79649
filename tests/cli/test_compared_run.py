"""`patch --compare RUN` with a damaged summary.json, and refusals that quote long values."""

import re

import pytest

from whyrank.cli.console import LONGEST, complain
from whyrank.cli.patch import _other_run
from whyrank.core.errors import UserError, located, quoted


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "not JSON"),
        ('{"by": "category", "si', "not JSON"),
        ("[]", "expected object, got array"),
        ("{}", "missing required field by"),
        ('{"by": 7}', "field by: "),
        ('{"by": "elsewhere"}', "field by: "),
        ('{"by": ' + "[" * 5000 + "]" * 5000 + "}", "nested more than"),
    ],
)
def test_a_damaged_summary_is_named_with_its_field(text, complaint, tmp_path):
    (tmp_path / "effects.parquet").write_bytes(b"")
    (tmp_path / "summary.json").write_text(text)
    with pytest.raises(UserError, match=re.escape(complaint)) as refused:
        _other_run(tmp_path)
    assert str(refused.value).startswith(str(tmp_path / "summary.json"))


def test_a_complaint_is_one_line_of_bounded_length(capsys):
    complain("a.json: " + "x\n" * 100_000 + "the end")
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("whyrank: a.json: x x") and line.endswith("the end") and len(line) < LONGEST + 50


def test_a_value_is_quoted_up_to_a_length():
    assert quoted("a\nb") == r"'a\nb'"
    assert len(quoted("x" * 10**6)) < 100
    assert quoted(10**5000) == "a int"


def test_a_place_is_added_once():
    with pytest.raises(UserError, match=r"^a\.toml: wrong; do this$"), located("a.toml"):
        raise UserError("wrong", todo="do this")
    with pytest.raises(UserError, match=r"^inner: wrong$"), located("a.toml"):
        raise UserError("wrong", where="inner")
    with pytest.raises(UserError, match=r"^a\.toml: 'inner': wrong$"), located("a.toml", "inner"):
        raise UserError("wrong", where="inner")
