"""Edit as values: they print and parse, compose, undo and save; what they do to U_0."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as some

from whyrank.core.errors import UserError
from whyrank.core.json_file import typed
from whyrank.core.results import plain
from whyrank.edits.edit import Edit, TermEdit

SCALES = some.floats(1, 5000, allow_nan=False).map(lambda x: float(f"{x:.10g}"))
TERMS = some.sampled_from(["berlin", "covid-19", "e=mc2", "machine learning", "naïve"])
EDITS = some.builds(
    TermEdit, TERMS, some.sampled_from(["up", "down"]), SCALES, some.sampled_from(["from-one", "authors"])
)


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
    assert str(TermEdit("cat", "up", 5)) == "up cat=5"
    assert str(Edit.of(up=["cat=5"], down=["dog=2.5", "a=1"])) == "up cat=5, down dog=2.5, down a=1"
    assert str(Edit()) == "no edit"


@pytest.mark.parametrize("u", [0.25, -0.25, 0.0])
@pytest.mark.parametrize("scale", [1.0, 2.0, 7.5])
def test_up_and_down_by_the_formula(u, scale):
    assert TermEdit("t", "up", scale).turned(u) == u - (scale - 1) * abs(u)
    assert TermEdit("t", "down", scale).turned(u) == u + (scale - 1) * abs(u)
    assert TermEdit("t", "up", scale, "authors").turned(u) == -scale * abs(u)
    assert TermEdit("t", "down", scale, "authors").turned(u) == scale * abs(u)


def test_a_scale_of_one_changes_nothing_but_by_the_authors_rule():
    assert TermEdit("t", "up", 1).turned(0.5) == 0.5
    assert TermEdit("t", "up", 1, "authors").turned(0.5) == -0.5


def test_edits_of_one_term_act_in_turn():
    edits = Edit.of(up=["cat=3"], down=["cat=2"])
    # 0.5 -> 0.5 - 2 * 0.5 = -0.5 -> -0.5 + 1 * 0.5 = 0
    assert edits.turned("cat", 0.5) == 0
    assert edits.turned("dog", 0.5) == 0.5
    assert (Edit.of(up=["cat=2"]) + Edit.of(up=["cat=3"])).turned("cat", -1.0) == -6.0


def test_what_is_added_comes_off_again():
    first, second = Edit.of(up=["cat=3"]), Edit.of(down=["dog=2", "cat=9"])
    both = first + second
    assert len(both) == 3 and both.terms == ("cat", "dog")
    assert both.undone() == first + Edit.of(down=["dog=2"])
    assert both.undone(2) == first and both.undone(9) == Edit()
    assert hash(both) == hash(typed(json.loads(json.dumps(plain(both))), Edit))


@given(some.lists(EDITS, max_size=4).map(tuple).map(Edit))
def test_edits_save_as_json(edits):
    assert typed(json.loads(json.dumps(plain(edits))), Edit) == edits


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: TermEdit.parse("berlin", "up"), "'berlin' is not an edit"),
        (lambda: TermEdit.parse("berlin=much", "up"), "'berlin=much' is not an edit"),
        (lambda: TermEdit.parse("=5", "up"), "without a term"),
        (lambda: TermEdit.parse("cat=0.5", "up"), "a scale of 0.5 for 'cat'"),
        (lambda: TermEdit.parse("cat=inf", "up"), "a scale of inf"),
        (lambda: TermEdit.parse("cat=nan", "down"), "a scale of nan"),
        (lambda: TermEdit("cat", "left", 2), "up or down, not 'left'"),
        (lambda: TermEdit("cat", "up", 2, "mine"), "choose from-one or authors"),
    ],
)
def test_what_is_no_edit_is_refused(make, complaint):
    with pytest.raises(UserError) as error:
        make()
    assert complaint in str(error.value)
