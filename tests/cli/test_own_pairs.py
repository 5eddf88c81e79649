"""Pairs of a user's own: scored as they are given; with fillers only where that is asked for, and then said."""

import json

import pandas as pd
import pytest

from tests.cli.run import whyrank_here
from whyrank.audit.scoring import audit_pairs
from whyrank.axioms.pair import read_pairs
from whyrank.core.errors import UserError
from whyrank.interventions.api import patch

RANKER = "bi-minilm-l3"
QUERY, SHORT = "how big is berlin", "Berlin is a big city."
LONG = "Berlin is a big city with three million inhabitants and museums."
FILLED = "Berlin is a big city a a a a a a."


@pytest.fixture
def own(tmp_path):
    path = tmp_path / "own.jsonl"
    path.write_text(
        json.dumps({"id": "even", "query": QUERY, "baseline": "a big city", "perturbed": "a big berlin"})
        + "\n"
        + json.dumps({"id": "odd", "query": QUERY, "baseline": SHORT, "perturbed": LONG})
        + "\n"
    )
    return path


def test_sides_of_other_token_lengths_are_refused_by_line_with_the_way_out(own, tmp_path, real):
    real(RANKER)
    with pytest.raises(UserError) as error:
        whyrank_here("patch", "--ranker", RANKER, "--pairs", own, "-o", tmp_path / "run")
    refusal = str(error.value)
    assert refusal.startswith(f"{own}:2: pair 'odd'")
    assert "the sides differ in token length (8 and 14 tokens)" in refusal
    assert "(pad)" in refusal and "(skip)" in refusal
    assert not (tmp_path / "run").exists()


def test_padding_is_said_and_counted_and_both_texts_stand_with_their_scores(own, tmp_path, real, capsys):
    ranker, out = real(RANKER), tmp_path / "run"
    whyrank_here("patch", "--ranker", RANKER, "--pairs", own, "--pad", "--sites", "0.1", "-o", out)
    said = capsys.readouterr().err
    assert "1 of 2 pairs is not scored as given: fillers were put in (pad)" in said
    assert "in 1 of the changed pairs the other side scores higher than with the texts as given" in said
    assert json.loads((out / "summary.json").read_text())["texts"] == {
        "pairs": 2, "as_given": 1, "padded": 1, "other_fillers": 0, "cut": 0,
    }  # fmt: skip
    (shown,) = json.loads((out / "manifest.json").read_text())["texts"]["changed"]
    row = pd.read_parquet(out / "pairs.parquet").set_index("pair").loc["odd"]
    as_given, as_scored = ranker.score([(QUERY, SHORT), (QUERY, FILLED)]).tolist()
    assert (as_given, as_scored) == pytest.approx((0.863, 0.675), abs=5e-4)
    for found in (shown, row):
        assert (found["baseline_text"], found["given_baseline_text"]) == (FILLED, SHORT)
        assert (found["base"], found["given_base"]) == pytest.approx((as_scored, as_given), abs=1e-5)
    page = (out / "report.html").read_text()
    assert "Texts that were not scored as given" in page and FILLED in page
    assert f"{as_given:.4f}"[1:5] in page and f"{as_scored:.4f}"[1:5] in page


def test_the_pair_that_needs_no_filler_is_scored_as_given(own, real):
    ranker = real(RANKER)
    effects = patch(ranker, own, pad=True, sites="0.1")
    row = effects.pair_frame.set_index("pair").loc["even"]
    assert not row["padded"] and row["base"] == row["given_base"]
    assert row["base"] == pytest.approx(ranker.score([(QUERY, "a big city")])[0], abs=1e-5)
    assert patch(ranker, own, skip=True, sites="0.1").dropped == {"the sides differ in token length": 1}


def test_an_audit_scores_texts_as_given(own, real):
    found = audit_pairs([real(RANKER)], read_pairs(own))
    row = next(row for row in found.rows if row.pair == "odd")
    assert (row.baseline_text, row.perturbed_text, row.padded) == (SHORT, LONG, False)
    assert row.baseline == pytest.approx(0.863, abs=5e-4)
