"""Axioms are values: text, equality, hash and keys hold every parameter, and the text parses back to the value."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.axioms.test_axioms import material
from whyrank.audit.summary import summarise
from whyrank.axioms.api import make_pairs
from whyrank.axioms.make import Choices
from whyrank.axioms.registry import axiom_class, own_axioms, parse_axiom, parse_axioms
from whyrank.axioms.tfc1 import TFC1
from whyrank.axioms.tfc2 import TFC2
from whyrank.collections.demo import open_demo
from whyrank.core.errors import UserError


def value_of(draw, parameter):
    """A value in the parameter's range, its default among them."""
    about = parameter.metadata
    if about["kind"] is int:
        some = st.integers(about["least"], about["most"])
    else:
        some = st.floats(about["least"], about["most"], allow_nan=False)
    return draw(st.just(parameter.default) | some)


@st.composite
def axioms(draw):
    """Any registered axiom with any values of all its parameters."""
    cls = axiom_class(draw(st.sampled_from(sorted(own_axioms()))))
    variant = draw(st.sampled_from(cls.variants))
    usable = [one for one in cls.parameters() if variant in (one.metadata["variants"] or cls.variants)]
    values = {one.name: value_of(draw, one) for one in usable}
    if cls is TFC2 and values.get("slots") is not None:
        values["slots"] = max(values["slots"], values["most"] + 1)
    return cls(variant, **values)


@given(axioms())
def test_the_text_parses_back_to_the_same_value(axiom):
    again = parse_axiom(str(axiom))
    assert again == axiom and hash(again) == hash(axiom) and str(again) == str(axiom)
    assert dataclasses.asdict(again) == dataclasses.asdict(axiom)
    assert parse_axioms(f"{axiom},LNC2")[0] == axiom


@given(axioms(), axioms())
def test_two_are_equal_only_if_all_parameters_are(one, other):
    same = type(one) is type(other) and dataclasses.asdict(one) == dataclasses.asdict(other)
    assert (one == other) == same == (str(one) == str(other)) == (len({one, other}) == 1)


def test_every_setting_of_an_axiom_is_a_parameter():
    """A number on a class that no text shows would be one that equality does not see."""
    for name in own_axioms():
        cls = axiom_class(name)
        numbers = {key for key, value in vars(cls).items() if isinstance(value, int | float) and key[0] != "_"}
        assert numbers <= {one.name for one in cls.parameters()}, name


def test_the_case_that_was_equal():
    assert TFC2("cumulative", most=5) != TFC2("cumulative", most=10)
    assert str(TFC2("cumulative", most=5)) == "TFC2:cumulative:most=5"
    assert len({TFC2("marginal"), TFC2("marginal", slots=51), TFC2("marginal", most=3)}) == 3
    assert TFC2() == parse_axiom("tfc2") == parse_axiom("TFC2:cumulative:most=10")


def test_parameters_do_what_they_say():
    assert len(list(parse_axiom("TFC2:marginal:most=3").drafts(material()))) == 3
    (draft,) = parse_axiom("STMC2:append:times=5").drafts(material())
    assert draft.k == 5 and len(draft.slotted.baseline) == 5
    (draft,) = parse_axiom("TP:append:distance=2").drafts(material())
    assert len(draft.slotted.baseline) == 4
    assert [str(one) for one in parse_axioms("TDC:*:gap=2.0")] == ["TDC:append:gap=2.0"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("TFC2:cumulative:most=0", "from 1 to 500"), ("TFC2:cumulative:most=x", "a whole number"),
        ("TFC2:cumulative:most=1_0", "a whole number"), ("TFC2:cumulative:most=1.5", "a whole number"),
        ("TFC2:cumulative:moost=5", "did you mean most"), ("TFC2:most=5:most=6", "twice"),
        ("TFC2:cumulative:marginal", "twice"), ("TFC2:cumulative:most=5:slots=5", "too few"),
        ("TFC2:restore:most=5", "for cumulative and marginal"), ("TFC1:append:tolerance=0.2", "for natural"),
        ("TFC3:append:tolerance=nan", "a number from 0"), ("LNC2:double:k=3", "it has none"),
    ],
)  # fmt: skip
def test_parameters_that_make_no_sense_are_refused(text, says):
    with pytest.raises(UserError, match=says):
        parse_axioms(text)
    with pytest.raises(UserError, match="must be a whole number"):
        TFC1("expansion", sentences=True)


def test_pairs_of_other_parameters_stay_apart_in_the_file_and_in_the_audit():
    made = make_pairs([TFC2("marginal", most=2), TFC2("marginal", most=3)], "demo", [], Choices(documents=2)).pairs
    assert len({pair.id for pair in made}) == len(made) == 10
    assert {pair.variant for pair in made} == {"marginal:most=2", "marginal:most=3"}
    from whyrank.audit.scoring import score_pairs
    from whyrank.rankers.load import load

    summaries = summarise(score_pairs(load("bm25", collection=open_demo()), made).rows)
    assert {one.axiom: one.n for one in summaries} == {"TFC2:marginal:most=2": 4, "TFC2:marginal:most=3": 6}
    assert all(one.gain_falls is not None for one in summaries)
