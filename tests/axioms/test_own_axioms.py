"""Axioms of the user's own: by module, by file, by entry point; and what is not one is refused in one line."""

import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

import whyrank
from tests.checkpoints import save
from whyrank.axioms import registry
from whyrank.axioms.registry import parse_axiom, parse_axioms
from whyrank.collections.collection import Collection
from whyrank.core.errors import UserError

CODE = '''
from dataclasses import dataclass
from whyrank.axioms import Axiom, Draft, appended, parameter

@dataclass(frozen=True, repr=False)
class Repeated(Axiom):
    """The term once more, said `times`."""
    name = "MINE"
    variants = ("end", "other")
    times: int = parameter(1, 1, 3)

    def drafts(self, material):
        yield Draft(appended(material.text, [material.filler], [material.term]), material.term, "end")

class Nothing:
    pass

class Nameless(Axiom):
    def drafts(self, material):
        yield from ()
'''


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "axioms_of_mine.py").write_text(CODE)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(registry, "_named", {})
    yield "axioms_of_mine"
    sys.modules.pop("axioms_of_mine", None)


def test_a_class_by_module_has_variants_and_parameters(module):
    axiom = parse_axiom(f"{module}:Repeated:other:times=2")
    assert str(axiom) == "MINE:other:times=2" and axiom.times == 2
    assert parse_axiom(str(axiom)) == axiom, "what is printed can be read again"
    assert list(map(str, parse_axioms(f"TFC1,{module}:Repeated:*"))) == ["TFC1:append", "MINE:end", "MINE:other"]


def test_a_class_by_file(module, tmp_path):
    assert str(parse_axiom(f"{tmp_path / 'axioms_of_mine.py'}:Repeated")) == "MINE:end"


def test_a_class_by_entry_point_counts_among_all(module, monkeypatch):
    point = EntryPoint("MINE", f"{module}:Repeated", registry.GROUP)
    monkeypatch.setattr(registry, "entry_points", lambda group: [point] if group == "whyrank.axioms" else [])
    assert str(parse_axiom("mine:other")) == "MINE:other"
    assert list(map(str, parse_axioms("all")))[-2:] == ["MINE:end", "MINE:other"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{module}:Nothing", "this is not an axiom; give a subclass"),
        ("{module}:Absent", "this is not an axiom; give a subclass"),
        ("{module}:Nameless", "this axiom has no name"),
        ("no_such_module:Repeated", "unknown axiom 'no_such_module', and no module 'no_such_module'"),
        ("TFC9:append", "unknown axiom 'TFC9'; did you mean"),
        ("nowhere.py:Repeated", "nowhere.py: no such file"),
        ("{module}:Repeated:times=9", "times is 9; it must be a whole number from 1 to 3"),
    ],
)
def test_what_is_no_axiom_is_refused(module, text, says):
    with pytest.raises(UserError, match=says):
        parse_axioms(text.format(module=module))


def test_an_audit_of_an_own_axiom(module, tmp_path):
    texts = {f"d{i}": f"the cat sat on the mat in berlin {word}" for i, word in enumerate(("red", "blue", "dog"))}
    collection = Collection.from_records("tiny", texts, {"q": "cat berlin", "r": "red dog"})
    result = whyrank.audit(str(save(tmp_path)), collection, f"{module}:Repeated", documents=4)
    assert {row.label for row in result.rows} == {"MINE:end"} and result.pairs > 0
