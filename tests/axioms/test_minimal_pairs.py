"""What `whyrank.pairs` returns is a result like all others; its file is the pairs file."""

from __future__ import annotations

from collections import Counter
from dataclasses import FrozenInstanceError

import jsonschema
import pytest

import whyrank
from whyrank.axioms.results import MinimalPairs


@pytest.fixture(scope="module")
def made():
    return whyrank.pairs("TFC1:append,TFC1:prepend,LNC1", "demo", documents=6, wordnet=False)


def test_it_is_frozen_and_says_what_it_is_in_one_line(made):
    with pytest.raises(FrozenInstanceError):
        made.pairs = ()
    queries = len({pair.qid for pair in made.pairs})
    kinds = "TFC1:append, TFC1:prepend, LNC1:sentences"
    assert repr(made).startswith(
        f"MinimalPairs: {len(made.pairs)} pairs for {kinds}, of {queries} queries."
    ) and "\n" not in repr(made)
    assert "<svg" in made._repr_html_()


def test_what_was_dropped_is_in_the_verdict():
    made = MinimalPairs((), {"TFC1": {"too long": 2, "no term": 5}, "LNC1": {}})
    assert made.verdict() == ["0 pairs for no axiom, of 0 queries.", "Dropped: no term (5), too long (2)."]


def test_json_and_back_and_the_schema(made):
    jsonschema.validate(made.to_json(), MinimalPairs.schema())
    assert MinimalPairs.from_json(made.to_json()) == made


def test_a_row_per_pair_and_a_bar_per_axiom(made):
    frame = made.to_pandas()
    assert list(frame["id"]) == [pair.id for pair in made.pairs] and "slot" not in frame
    axes = made.plot()
    expected = Counter(":".join(filter(None, (pair.axiom, pair.variant))) for pair in made.pairs)
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert dict(zip(labels, (bar.get_width() for bar in axes.patches), strict=True)) == expected


@pytest.mark.parametrize("name", ["tfc1.jsonl", "folder"])
def test_saved_as_the_verb_writes_it_and_read_again(made, tmp_path, name):
    whyrank.pairs("TFC1:append,TFC1:prepend,LNC1", "demo", documents=6, wordnet=False, out=tmp_path / "by.jsonl")
    file, dropped = made.save(tmp_path / name)
    assert file == (tmp_path / name if name.endswith("l") else tmp_path / name / "pairs.jsonl")
    assert file.read_bytes() == (tmp_path / "by.jsonl").read_bytes()
    assert dropped.read_bytes() == (tmp_path / "by.dropped.json").read_bytes()
    assert MinimalPairs.read(tmp_path / name) == made
    assert len(list(file.parent.glob(".*"))) == 0, "no lock is left"


def test_pairs_of_ones_own_have_nothing_dropped(made, tmp_path):
    file, dropped = made.save(tmp_path / "own.jsonl")
    dropped.unlink()
    assert MinimalPairs.read(file) == MinimalPairs(made.pairs)
