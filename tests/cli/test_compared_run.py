"""`patch --compare RUN` with a damaged summary.json, and refusals that quote long values."""

import json
import re

import pytest

from tests.interventions.small import effects
from whyrank.cli.console import LONGEST, complain
from whyrank.core.errors import UserError, located, quoted
from whyrank.interventions.api import patch
from whyrank.interventions.results import Effects


def with_by(value):
    return json.dumps({**effects().to_json(), "by": value})


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "not JSON"),
        ('{"by": "category", "si', "not JSON"),
        ("[]", "not format 2 of summary.json"),
        ("{}", "not format 2 of summary.json"),
        ('{"format": 2}', "missing required field"),
        (with_by(7), "field by: "),
        (with_by("elsewhere"), "field by: "),
        ('{"by": ' + "[" * 5000 + "]" * 5000 + "}", "nested more than"),
    ],
    ids=["empty", "cut", "list", "nothing", "no field", "number", "unknown", "deep"],
)
def test_a_damaged_summary_is_named_with_its_field(text, complaint, tmp_path):
    (tmp_path / "effects.parquet").write_bytes(b"")
    (tmp_path / "summary.json").write_text(text)
    with pytest.raises(UserError, match=re.escape(complaint)) as refused:
        patch("ce-minilm-l12", "pairs.jsonl", compare=tmp_path)
    assert str(refused.value).startswith(str(tmp_path / "summary.json"))


def test_a_damaged_table_is_named(tmp_path):
    (tmp_path / "summary.json").write_text(json.dumps(effects().to_json()))
    (tmp_path / "effects.parquet").write_bytes(b"PAR1")
    with pytest.raises(UserError, match="not a table of effects"):
        Effects.read(tmp_path)


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
