"""Numbers under stress (one pair, equal scores, no gap): valid JSON, no warning, and a sentence that says what
cannot be said, on the screen and in the report."""

import copy
import json
import re
import time
import warnings

import pytest
import torch

from tests.checkpoints import save
from tests.cli.run import whyrank_here
from tests.pages.inert import text_of
from tests.tiny import tiny_model
from whyrank.audit.scoring import score_pairs
from whyrank.axioms.pair import read_pairs
from whyrank.core.errors import UserError
from whyrank.interventions.api import patch
from whyrank.rankers.load import load

ONE = [{"id": "1", "query": "red cat", "baseline": "the dog sat", "perturbed": "the cat sat"}]
THREE = [
    *ONE,
    {"id": "2", "query": "red cat", "baseline": "a dog runs", "perturbed": "a cat runs"},
    {"id": "3", "query": "blue house", "baseline": "the tree", "perturbed": "the house", "prefer": "baseline"},
]
NO_GAP = "both sides score the same in every pair: there is no gap that a site could have a share of"
NO_PREFERENCE = "both sides score the same in every pair: this says nothing about what the ranker prefers"


@pytest.fixture(scope="module")
def ordinary(tmp_path_factory):
    return save(tmp_path_factory.mktemp("stress") / "ordinary", head="AutoModelForSequenceClassification")


@pytest.fixture(scope="module")
def constant(tmp_path_factory):
    """A cross-encoder whose head reads nothing: every score is its bias."""
    model = copy.deepcopy(tiny_model("bert", "AutoModelForSequenceClassification"))
    with torch.no_grad():
        model.classifier.weight.zero_()
        model.classifier.bias[:] = torch.tensor([0.0, 0.25])
    return save(tmp_path_factory.mktemp("stress") / "constant", model=model)


def run(command, ranker, lines, tmp_path, *more):
    """The JSON that a command wrote, read strictly; what it said; its report's text. No warning is let through."""
    pairs, out = tmp_path / "pairs.jsonl", tmp_path / command
    pairs.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with warnings.catch_warnings(action="error"):
        whyrank_here(command, "--ranker", ranker, "--pairs", pairs, *more, "-o", out)
    found = {path.name: json.loads(path.read_text(), parse_constant=no_constant) for path in out.glob("*.json")}
    return found, text_of((out / "report.html").read_text())


def no_constant(name):
    raise AssertionError(f"{name} in a JSON file")


PATCHES = (
    ["--sites", "heads"],
    ["--sites", "heads", "--direction", "noise"],
    ["--sites", "blocks", "--by", "category"],
    ["--method", "attribution", "--check", "1"],
    ["--method", "path"],
    ["--method", "ablation", "--ablate", "mean", "--sites", "0.1"],
)


@pytest.mark.parametrize(("how", "lines"), [*((how, THREE) for how in PATCHES), (PATCHES[0], ONE)])
def test_patching_a_ranker_whose_scores_are_all_the_same(constant, how, lines, tmp_path, capsys):
    found, page = run("patch", constant, lines, tmp_path, *how)
    assert found["summary.json"]["gap"]["same"] == len(lines)
    assert {site["share"]["value"] for site in found["summary.json"]["sites"]} == {None}
    assert NO_GAP in capsys.readouterr().err and NO_GAP[1:] in page
    assert not re.search(r"\bnan\b", page.lower())


@pytest.mark.parametrize("how", PATCHES, ids=" ".join)
def test_patching_one_pair(ordinary, how, tmp_path):
    found, page = run("patch", ordinary, ONE, tmp_path, *how)
    summary = found["summary.json"]
    assert (summary["pairs"], summary["queries"], summary["gap"]["same"]) == (1, 1, 0)
    for site in summary["sites"]:
        ratio = site["ratio_of_sums"]
        assert (ratio["low"], ratio["high"], ratio["no_interval"]) == (None, None, "too few queries")
        assert site["p"] is None
    assert "too few queries" in page


@pytest.mark.parametrize("lines", [ONE, THREE], ids=["one pair", "three pairs"])
def test_auditing_a_ranker_whose_scores_are_all_the_same(constant, lines, tmp_path, capsys):
    found, page = run("audit", constant, lines, tmp_path, "--collection", "demo")
    for axiom in found["audit.json"]["axioms"]:
        assert [axiom[outcome]["value"] for outcome in ("holds", "neutral", "violates")] == [0.0, 1.0, 0.0]
    assert NO_PREFERENCE in capsys.readouterr().err and NO_PREFERENCE in page


def test_auditing_one_pair(ordinary, tmp_path):
    found, _ = run("audit", ordinary, ONE, tmp_path, "--collection", "demo")
    assert found["audit.json"]["axioms"][0]["n"] == 1


def test_noise_of_float32_decides_no_outcome(constant, tmp_path):
    (tmp_path / "p.jsonl").write_text("".join(json.dumps(line) + "\n" for line in THREE))
    ranker, pairs = load(str(constant)), read_pairs(tmp_path / "p.jsonl")
    scored = score_pairs(Trembling(ranker), pairs)
    assert {row.difference for row in scored.rows} != {0.0}
    assert {row.outcome for row in scored.rows} == {"neutral"} and scored.ranker.sentences() == [NO_PREFERENCE]


class Trembling:
    """A ranker with scores that differ in their last bits."""

    def __init__(self, ranker):
        self.ranker = ranker

    def __getattr__(self, name):
        return getattr(self.ranker, name)

    def scores(self, pairs, progress=None):
        found = self.ranker.scores(pairs, progress)
        return found._replace(values=found.values + 3e-8 * torch.arange(len(pairs)).numpy())


@pytest.mark.slow
@pytest.mark.parametrize("how", ["at the end", "everywhere"])
def test_a_pair_of_megabytes_takes_seconds(ordinary, how, tmp_path):
    body = ["the dog sat on a mat"] * 50_000
    baseline, perturbed = {
        "at the end": ([*body, "the cat"], [*body, "the tree"]),
        "everywhere": (body, ["the cat sat on a red tree"] * 50_000),
    }[how]
    line = {"id": "1", "query": "cat", "baseline": " ".join(baseline), "perturbed": " ".join(perturbed)}
    (tmp_path / "p.jsonl").write_text(json.dumps(line) + "\n")
    ranker, start = load(str(ordinary)), time.process_time()
    pairs = read_pairs(tmp_path / "p.jsonl")
    try:
        assert len(score_pairs(ranker, pairs).rows) == 1
        assert len(patch(ranker, pairs, sites="0.1")) == 1
    except UserError as error:
        assert how == "everywhere" and "the model's length" in str(error)
    assert time.process_time() - start < 60, "of this machine's time; a diff by the square takes many minutes"


def test_sides_that_read_as_the_same_tokens(ordinary, tmp_path, capsys):
    line = {**ONE[0], "baseline": "the cat sat", "perturbed": "The CAT sat"}
    with pytest.raises(UserError, match=r"pairs\.jsonl:1: .* reads the same tokens on both sides.* \(skip\)"):
        run("patch", ordinary, [line], tmp_path)
    run("audit", ordinary, [line], tmp_path, "--collection", "demo")
    assert NO_PREFERENCE in capsys.readouterr().err
