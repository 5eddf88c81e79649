"""`whyrank circuit` on pairs of a user's own: as `patch` does, refused, padded and reported, or dropped."""

import json
import warnings

import pandas as pd
import pytest

from tests.checkpoints import save
from tests.cli.run import whyrank_here
from whyrank.core.errors import UserError

PLACES = ("sat on a mat", "runs fast", "live in berlin", "sat in a tree", "runs on a mat", "live in a house")


@pytest.fixture
def folder(tmp_path):
    save(tmp_path / "ce", head="AutoModelForSequenceClassification")
    lines = [
        {"id": f"p{number}", "qid": f"q{number}", "query": "red cat", "term": "cat",
         "baseline": f"the dog {place}", "perturbed": f"the {'red ' * (number == 3)}cat {place}"}
        for number, place in enumerate(PLACES)
    ]  # fmt: skip
    (tmp_path / "own.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return tmp_path


def call(folder, *more):
    with warnings.catch_warnings(action="error"):
        whyrank_here("circuit", "--ranker", folder / "ce", "--pairs", folder / "own.jsonl", "--select", "gap",
                     "--threshold", "relative=0.4", "--decide", "point", "--pairs-to-heads", "6", "--randoms", "1",
                     "--search-steps", "1", *more, "-o", folder / "run")  # fmt: skip


def test_sides_of_other_token_lengths_are_refused_by_line(folder):
    with pytest.raises(UserError, match=r"own\.jsonl:4: pair 'p3' .* differ in token length .* \(pad\)"):
        call(folder)
    assert not (folder / "run").exists()


def test_padding_is_said_and_both_texts_are_kept(folder, capsys):
    call(folder, "--pad")
    assert "1 of 6 pairs is not scored as given: fillers were put in (pad)" in capsys.readouterr().err
    rows = pd.read_parquet(folder / "run" / "pairs.parquet").set_index("pair")
    assert list(rows.index[rows["padded"]]) == ["p3"]
    assert rows.loc["p3", "given_baseline_text"] == f"the dog {PLACES[3]}" != rows.loc["p3", "baseline_text"]
    shown = json.loads((folder / "run" / "manifest.json").read_text())["texts"]
    assert shown["padded"] == 1 and shown["changed"][0]["baseline_text"] == rows.loc["p3", "baseline_text"]
    assert "Texts that were not scored as given" in (folder / "run" / "report.html").read_text()
