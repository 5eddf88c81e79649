"""Heads that a user brings: how they are written, and what is refused, each in one line."""

from types import SimpleNamespace

import pytest

from whyrank.circuits import known
from whyrank.circuits.brought import BroughtHeads
from whyrank.circuits.head import Head
from whyrank.core.errors import UserError


def ranker(layers=12, heads=12, width=384, name="ce-minilm-l12"):
    return SimpleNamespace(name=name, encoder=SimpleNamespace(layers=layers, heads=heads, width=width))


def read(given, **more):
    return BroughtHeads.of(given, ranker(**more))


def test_heads_by_role():
    found = read("matching=0.8,1.7; scoring = 10.1 L10.H4")
    assert found.heads == (Head(0, 8), Head(1, 7), Head(10, 1), Head(10, 4)) and found.name == "given"
    assert found.by_role() == {
        "scoring": [Head(10, 1), Head(10, 4)], "contextualization": [], "matching": [Head(0, 8), Head(1, 7)],
        "other": [],
    }  # fmt: skip


def test_heads_without_a_role_get_one_by_the_tests():
    assert read("10.1, 0.8").heads == (Head(0, 8), Head(10, 1)) and read("10.1").by_role() is None


def test_a_head_may_have_two_roles():
    found = read({"matching": ["0.8", "8.1"], "contextualization": ("8.1",), "other": ["8.1", "9.9"]})
    assert found.heads == (Head(0, 8), Head(8, 1), Head(9, 9))
    assert found.by_role()["other"] == [Head(9, 9)], "8.1 has roles"


def test_files(tmp_path):
    (tmp_path / "mine.txt").write_text("# my heads\nmatching=0.8,1.7  # two\n\nscoring=10.1\n")
    found = read(tmp_path / "mine.txt")
    assert found.name == "mine.txt" and found.by_role()["matching"] == [Head(0, 8), Head(1, 7)]
    (tmp_path / "circuit.json").write_text('{"roles": {"matching": ["L0.H8"], "scoring": ["L10.H1"]}}')
    for path in (tmp_path, tmp_path / "circuit.json", str(tmp_path / "circuit.json")):
        assert read(path).by_role()["scoring"] == [Head(10, 1)]


def test_the_papers_heads():
    found = read("paper")
    assert len(found.heads) == 19 and len(found.by_role()["matching"]) == 13 and found.name == "the paper's"
    assert read(known.text()).by_role() == found.by_role()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("", "no heads"), (" ; ", "no heads"), ("matching=", "matching: no heads"),
        ("matching=0.8;scoring=", "scoring: no heads"), ("mathcing=0.8", "no role is called 'mathcing'"),
        ("matching=0.8,0.8", "matching: 0.8 stands twice"), ("0.8 L0.H8", "0.8 stands twice"),
        ("matching=0.8;matching=1.7", "the role matching stands twice"),
        ("matching=0.8;1.7", "'1.7' names no role"), ("matching=0.x", "'0.x' is not a head"),
        ("matching=12.1", "12"), ("0.12", "12"), ("nowhere.txt", "neither heads nor a file of them"),
        ("x" * 5000, "neither heads nor a file of them"), ("matching=" + "0.1 " * 4000, "0.1 stands twice"),
    ],
)  # fmt: skip
def test_what_is_refused(given, said):
    with pytest.raises(UserError) as refused:
        read(given)
    assert said in str(refused.value) and "\n" not in str(refused.value) and len(str(refused.value)) < 300


def test_a_file_that_is_none_is_named(tmp_path):
    (tmp_path / "bad.txt").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "wrong.txt").write_text("matching=8")
    for name in ("bad.txt", "wrong.txt"):
        with pytest.raises(UserError, match=name):
            read(tmp_path / name)


@pytest.mark.parametrize(
    ("more", "said"),
    [({"layers": 6}, "has 6 layers of 12 heads"), ({"name": "my-fine-tune"}, "not of my-fine-tune")],
)
def test_the_papers_heads_are_of_its_model_alone(more, said):
    with pytest.raises(UserError) as refused:
        read("paper", **more)
    assert said in str(refused.value) and "ms-marco-minilm-l-12-v2" in str(refused.value)
