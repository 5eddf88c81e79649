"""Edit as values: they print and parse, compose, undo and save; what they do to U_0."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as some

from whyrank.core.errors import UserError
from whyrank.core.json_file import typed
from whyrank.core.results import plain
from whyrank.edits.edit import Edit, TermEdit, plain_numbers
from whyrank.edits.units import Units

SCALES = some.floats(1, 5000, allow_nan=False).map(lambda x: float(f"{x:.10g}"))
RULES = ["sd", "idf", "paper", "authors"]
#: sd .002, an IDF .0005 of U_0.
UNITS = Units(1000, 0.001, 0.002, 0.0005, -0.004, 0.005)
TERMS = some.sampled_from(["berlin", "covid-19", "e=mc2", "machine learning", "naïve"])
EDITS = some.builds(TermEdit, TERMS, some.sampled_from(["up", "down"]), SCALES, some.sampled_from(RULES))


@given(EDITS)
def test_an_edit_parses_as_it_prints(edit):
    assert TermEdit.parse(str(edit)) == edit
    assert TermEdit.parse(f"{edit.term}={edit.scale!r}", edit.direction, edit.rule) == edit


@given(some.lists(EDITS, max_size=4).map(tuple).map(Edit))
def test_several_edits_parse_as_they_print(edits):
    assert Edit.parse(str(edits)) == edits


def test_scales_by_name_are_the_same_as_texts():
    assert Edit.of(up={"cat": 5}, down={"dog": 2.5}) == Edit.of(up=["cat=5"], down=["dog=2.5"])
    assert Edit.of(up="cat=5") == Edit.parse("up cat=5")
    with pytest.raises(UserError, match="reads like two edits"):
        TermEdit("cat=2, up dog", "up", 5)


def test_how_it_prints():
    assert str(TermEdit("cat", "up", 5)) == "up cat=5sd"
    assert str(Edit.of(up=["cat=5"], down=["dog=2.5idf", "a=x1"])) == "up cat=5sd, down dog=2.5idf, down a=x1"
    assert str(TermEdit("cat", "up", 5, "authors")) == "up cat=x5 (authors)"
    assert str(Edit()) == "no edit"


@pytest.mark.parametrize(
    ("written", "rule", "parsed"),
    [
        ("cat=2", "sd", (2.0, "sd")), ("cat=2", "paper", (2.0, "paper")),
        ("cat=2", "from-one", (2.0, "paper")),
        ("cat=2", "authors", (2.0, "authors")), ("cat=2sd", "paper", (2.0, "sd")),
        ("cat=.5IDF", "sd", (0.5, "idf")), ("cat=1e2sd", "sd", (100.0, "sd")),
        ("cat=x5", "sd", (5.0, "paper")), ("cat=x5", "authors", (5.0, "authors")),
        ("cat=1e2", "sd", (100.0, "sd")), ("cat=5 (authors)", "sd", (5.0, "authors")),
    ],
)  # fmt: skip
def test_a_scale_is_of_its_unit_and_else_of_the_rule(written, rule, parsed):
    found = TermEdit.parse(written, "up", rule)
    assert (found.scale, found.rule) == parsed


def test_numbers_without_a_unit_are_found():
    assert plain_numbers("up a=2, down b=2sd", ["c=x3", "d=1e1"], {"e": 4, "f": "1idf"}) == [
        "up a=2",
        "d=1e1",
        "e=4",
    ]
    assert plain_numbers("no edit", "g=1sd") == []


@pytest.mark.parametrize("u", [0.25, -0.25, 0.0])
@pytest.mark.parametrize("scale", [1.0, 2.0, 7.5])
def test_up_and_down_by_the_formula(u, scale):
    assert TermEdit("t", "up", scale).turned(u, UNITS) == u - scale * 0.002
    assert TermEdit("t", "down", scale, "idf").turned(u, UNITS) == u + scale * 0.0005
    assert TermEdit("t", "up", scale, "paper").turned(u) == u - (scale - 1) * abs(u)
    assert TermEdit("t", "down", scale, "from-one").turned(u) == u + (scale - 1) * abs(u)
    assert TermEdit("t", "up", scale, "authors").turned(u) == -scale * abs(u)
    assert TermEdit("t", "down", scale, "authors").turned(u) == scale * abs(u)


def test_what_changes_nothing():
    assert TermEdit("t", "up", 0).turned(0.5, UNITS) == 0.5
    assert TermEdit("t", "up", 1, "paper").turned(0.5) == 0.5
    assert TermEdit("t", "up", 1, "authors").turned(0.5) == -0.5


def test_edits_of_one_term_act_in_turn():
    edits = Edit.of(up=["cat=x3"], down=["cat=x2"])
    # 0.5 -> 0.5 - 2 * 0.5 = -0.5 -> -0.5 + 1 * 0.5 = 0
    assert edits.turned("cat", 0.5) == 0
    assert edits.turned("dog", 0.5) == 0.5
    assert (Edit.of(up=["cat=x2"]) + Edit.of(up=["cat=x3"])).turned("cat", -1.0) == -6.0
    assert (Edit.of(up=["cat=2"]) + Edit.of(down=["cat=3"])).turned("cat", 1.0, UNITS) == pytest.approx(1.002)


def test_what_is_added_comes_off_again():
    first, second = Edit.of(up=["cat=3"]), Edit.of(down=["dog=2", "cat=9"])
    both = first + second
    assert len(both) == 3 and both.terms == ("cat", "dog")
    assert both.undone() == first + Edit.of(down=["dog=2"])
    assert both.undone(2) == first and both.undone(9) == Edit()
    assert hash(both) == hash(typed(json.loads(json.dumps(plain(both))), Edit))


def test_files_of_earlier_versions_mean_what_they_meant(tmp_path):
    terms = [{"term": "cat", "direction": "up", "scale": 5.0, "rule": "from-one"},
             {"term": "dog", "direction": "down", "scale": 2.0, "rule": "authors"}]  # fmt: skip
    (tmp_path / "edits.json").write_text(json.dumps({"ranker": "r", "dial": {}, "edits": terms, "earlier": None}))
    found = Edit.read(tmp_path)
    assert str(found) == "up cat=x5, down dog=x2 (authors)"
    assert found.turned("cat", 0.5) == 0.5 - 4 * 0.5 and typed(terms[0], TermEdit) == found.parts[0]
    assert Edit.read(tmp_path / "edits.json") == found
    with pytest.raises(UserError, match="no edits here"):
        Edit.read(tmp_path / "other")
    (tmp_path / "edits.json").write_text(json.dumps({"ranker": "r", "alignment": {}}))
    with pytest.raises(UserError, match="these are no edits of terms"):
        Edit.read(tmp_path)


@given(some.lists(EDITS, max_size=4).map(tuple).map(Edit))
def test_edits_save_as_json(edits):
    assert typed(json.loads(json.dumps(plain(edits))), Edit) == edits


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: TermEdit.parse("berlin", "up"), "'berlin' is not an edit"),
        (lambda: TermEdit.parse("berlin=much", "up"), "'berlin=much' is not an edit"),
        (lambda: TermEdit.parse("=5", "up"), "without a term"),
        (lambda: TermEdit.parse("cat=x0.5", "up"), "a scale of 0.5 for 'cat'"),
        (lambda: TermEdit.parse("cat=-1sd", "up"), "a scale of -1 for 'cat'; give 0 (no change)"),
        (lambda: TermEdit.parse("cat=x5sd", "up"), "'cat=x5sd' is not an edit"),
        (lambda: TermEdit.parse("cat=5 sdx", "up"), "'cat=5 sdx' is not an edit"),
        (lambda: TermEdit.parse("cat=inf", "up"), "a scale of inf"),
        (lambda: TermEdit.parse("cat=nan", "down"), "a scale of nan"),
        (lambda: TermEdit("cat", "left", 2), "up or down, not 'left'"),
        (lambda: TermEdit("cat", "up", 2, "mine"), "choose sd, idf, paper or authors"),
    ],
)
def test_what_is_no_edit_is_refused(make, complaint):
    with pytest.raises(UserError) as error:
        make()
    assert complaint in str(error.value)
