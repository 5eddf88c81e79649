"""`slot`, `contents` and the texts of a line must agree: of two that contradict each other neither is taken."""

import json

import pytest

from whyrank.axioms.api import make_pairs
from whyrank.axioms.make import Choices
from whyrank.axioms.pair import read_pairs, write_pairs
from whyrank.core.errors import UserError


@pytest.fixture
def line(tmp_path, real):
    """The second of two lines that `whyrank pairs` wrote."""
    made = make_pairs("TFC1:append", "demo", [real("bi-minilm-l3")], Choices(documents=2)).pairs[:2]
    write_pairs(tmp_path / "p.jsonl", made)
    return [json.loads(text) for text in (tmp_path / "p.jsonl").read_text().splitlines()][1]


def refused(tmp_path, line):
    path = tmp_path / "p.jsonl"
    first = path.read_text().splitlines()[0]
    path.write_text(f"{first}\n{json.dumps(line)}\n")
    with pytest.raises(UserError) as error:
        read_pairs(path)
    assert str(error.value).startswith(f"{path}:2: ") and "\n" not in str(error.value)
    return str(error.value)


def test_a_word_changed_in_the_text_alone(tmp_path, line):
    term = line["contents"]["perturbed"][0]
    start = line["slot"]["perturbed"][0][0]
    line["perturbed"] = line["perturbed"][:start] + "x" * len(term) + line["perturbed"][start + len(term) :]
    complaint = refused(tmp_path, line)
    assert f"contents says '{term}' where perturbed has 'xxx" in complaint
    assert "change contents, too, or leave slot and contents out" in complaint


def test_a_longer_word_in_the_text_alone(tmp_path, line):
    term = line["contents"]["perturbed"][0]
    line["perturbed"] = line["perturbed"].replace(f" {term}", " refrigerators", 1)
    assert (
        "the spans of slot do not fit" in (complaint := refused(tmp_path, line))
        or "differ outside slot" in complaint
    )


def test_a_word_changed_in_contents_alone(tmp_path, line):
    line["contents"]["perturbed"][0] = "other"
    assert "contents says 'other' where perturbed has" in refused(tmp_path, line)


def test_a_text_changed_outside_the_slot_on_one_side(tmp_path, line):
    line["baseline"] = f"X{line['baseline'][1:]}"
    assert "the texts differ outside slot" in refused(tmp_path, line)


def test_contents_for_another_number_of_slots(tmp_path, line):
    line["contents"]["baseline"].append("a")
    assert "contents has 2 of 1 slots" in refused(tmp_path, line)


def test_contents_without_slot(tmp_path, line):
    del line["slot"]
    assert "has contents and no slot" in refused(tmp_path, line)


def test_the_texts_changed_alike_and_without_both_are_read(tmp_path, line):
    for side in ("baseline", "perturbed"):
        line[side] = f"X{line[side][1:]}"
    (tmp_path / "p.jsonl").write_text(json.dumps(line) + "\n")
    assert read_pairs(tmp_path / "p.jsonl")[0].baseline.startswith("X")
    del line["slot"], line["contents"]
    line["perturbed"] += " and more"
    (tmp_path / "p.jsonl").write_text(json.dumps(line) + "\n")
    assert read_pairs(tmp_path / "p.jsonl")[0].perturbed.endswith(" and more")


@pytest.mark.parametrize("filler", ["a", "mask", "random", "frequency"])
def test_what_pairs_writes_is_read_back(tmp_path, filler, real):
    ranker = real("bi-minilm-l3")
    made = make_pairs("TFC1,TFC2,TP,STMC1", "demo", [ranker], Choices(documents=2, filler=filler)).pairs
    write_pairs(tmp_path / "p.jsonl", made)
    assert read_pairs(tmp_path / "p.jsonl") == list(made)


@pytest.mark.parametrize(("key", "name"), [("axiom", "a\x00b"), ("variant", "x" * 101), ("axiom", "a\nb")])
def test_a_name_that_fits_into_no_table_is_refused(tmp_path, key, name):
    path = tmp_path / "p.jsonl"
    path.write_text(json.dumps({"id": "1", "query": "q", "baseline": "a", "perturbed": "b", key: name}) + "\n")
    with pytest.raises(UserError, match=f"p.jsonl:1: {key} is .*; at most 100 printable characters"):
        read_pairs(path)
