"""`patch` as a verb: its typed result is written, read, drawn and put into words; finished work is reused."""

import json
from dataclasses import replace

import jsonschema
import pandas as pd
import pytest

from tests.checkpoints import save
from tests.interventions.small import effects, frame, pairs
from whyrank.core.caller import Caller
from whyrank.core.errors import UserError
from whyrank.interventions import patching
from whyrank.interventions.api import patch
from whyrank.interventions.results import Effects
from whyrank.rankers.load import load


@pytest.fixture(scope="module")
def ranker(tmp_path_factory):
    return load(str(save(tmp_path_factory.mktemp("ce"), head="AutoModelForSequenceClassification")))


def check(folder):
    """The summary in a run folder: valid, and the same when it is read again."""
    written = json.loads((folder / "summary.json").read_text())
    jsonschema.validate(written, Effects.schema())
    found = Effects.read(folder)
    assert found.to_json() == written
    return found


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"method": "path", "freeze_mlp": True},
        {"method": "attribution", "check": 3},
        {"method": "ablation", "ablate": "mean"},
        {"screen": 2},
        {"by": "category", "direction": "noise"},
        {"by": "position", "sites": "blocks"},
    ],
    ids=str,
)
def test_what_is_written_is_what_is_read(ranker, tmp_path, how):
    found = patch(ranker, pairs(), out=tmp_path / "run", **how)
    again = check(tmp_path / "run")
    assert again == found == Effects.from_json(found.to_json())
    assert again.frame.equals(found.frame) and again.pair_frame.equals(found.pair_frame)
    assert (tmp_path / "run" / "report.html").read_text().count("<svg") >= 1


def test_every_number_of_a_site_is_an_estimate_over_pairs_and_queries(ranker):
    found = patch(ranker, pairs())
    assert len(found.sites) == len(found) / 8
    for site in found.sites:
        for one in (site.share, site.ratio_of_sums, site.mean_effect, site.mean_change):
            assert (one.pairs, one.queries) == (site.n, site.queries) == (8, 8)
    assert set(found.splits) == {"rank", "term_present"}
    assert [one.n for one in found.splits["term_present"]["yes"]] == [4] * len(found.sites)


def test_finished_work_is_not_done_again(ranker, tmp_path, monkeypatch):
    first, said = patch(ranker, pairs(), sites="0.1,1.2", out=tmp_path), []
    monkeypatch.setattr(patching, "sweep", lambda *_, **__: pytest.fail("patched again"))
    again = patch(ranker, pairs(), sites="0.1,1.2", out=tmp_path, caller=Caller(say=said.append))
    assert again == first and again.frame.equals(first.frame)
    assert any("holds this result already" in text for text in said)
    for other in ({"sites": "0.1"}, {"keep": "adherent"}, {"seed": 3}, {"metric": lambda scores, pair: scores}):
        with pytest.raises(UserError, match="other inputs"):
            patch(ranker, pairs(), **{"sites": "0.1,1.2", **other}, out=tmp_path)
    with pytest.raises(UserError, match="other inputs"):
        patch(ranker, pairs(7), sites="0.1,1.2", out=tmp_path)


def test_a_result_made_in_memory_can_be_saved(ranker, tmp_path):
    found = patch(ranker, pairs())
    names = {path.name for path in found.save(tmp_path / "saved")}
    assert {"summary.json", "effects.parquet", "pairs.parquet", "report.html", "heads.svg"} <= names
    assert check(tmp_path / "saved") == found
    assert json.loads((tmp_path / "saved" / "manifest.json").read_text())["files"]


def test_runs_are_compared_from_a_folder_or_in_memory(ranker, tmp_path):
    denoise = patch(ranker, pairs(), out=tmp_path / "a")
    by_folder = patch(ranker, pairs(), direction="noise", compare=tmp_path / "a", out=tmp_path / "b")
    in_memory = patch(ranker, pairs(), direction="noise", compare=denoise)
    assert by_folder.compared.run == str(tmp_path / "a") and check(tmp_path / "b") == by_folder
    assert in_memory.compared.correlation == by_folder.compared.correlation
    assert by_folder.compared.correlation == by_folder.correlation(denoise)
    with pytest.raises(UserError, match="no site in common"):
        patch(ranker, pairs(), sites="L0.mlp", compare=denoise)


@pytest.mark.parametrize(
    ("how", "complaint"),
    [
        ({"method": "path", "screen": 2}, "screen does not go with path"),
        ({"freeze_mlp": True}, "freeze_mlp does not go with activation; it belongs to method 'path'"),
        ({"to": "L1.H0.v"}, "to does not go with activation"),
        ({"ablate": "mean"}, "ablate does not go with activation"),
        ({"steps": 2}, "steps does not go with activation"),
        ({"reference": "x.jsonl"}, "a reference is for ablate 'mean' or 'resample'"),
        ({"check": 0}, "check cannot be 0; give 1 or more"),
        ({"methods": "path"}, "there is no option 'methods'; did you mean method?"),
        ({"keep": "some"}, "keep cannot be 'some'; choose all or adherent"),
        ({"side": "query"}, "one sequence"),
        ({"max_length": 64}, "max_length is for a ranker that is loaded here"),
        ({"workers": 0}, "0 workers"),
    ],
    ids=str,
)
def test_what_does_not_go_together_is_refused_in_the_words_of_parameters(ranker, tmp_path, how, complaint):
    with pytest.raises(UserError) as refused:
        patch(ranker, pairs(2), out=tmp_path / "run", **how)
    assert complaint in str(refused.value) and "--" not in str(refused.value)
    assert not (tmp_path / "run").exists()


def test_a_pairs_file_that_is_not_there_is_named(ranker, tmp_path):
    with pytest.raises(UserError, match=r"none\.jsonl: no such file"):
        patch(ranker, tmp_path / "none.jsonl")


def test_the_verdict_names_the_largest_sites_and_what_is_significant():
    first, second = effects().verdict()
    assert first.startswith("L0.H5.z has the largest effect in tiny: share of the gap 50")
    assert (
        "then L0.H4.z (40" in first
        and "%" in first
        and second == ("5 of 6 sites have a significant effect (0.05, Holm).")
    )
    few = effects(frame(queries=3)).verdict()
    assert few[1] == "3 queries: too few queries to say which of 6 sites have an effect."
    assert "no gap" in " ".join(effects(frame().assign(perturbed=1.0)).verdict())
    assert repr(effects()) == f"Effects: {first} {second}"


def test_ablations_are_shown_by_the_change_of_the_score():
    found = replace(effects(frame(method="ablation")), ablate="zero")
    assert found.measure.title == "mean change of the score"
    assert found.verdict()[0].startswith("L0.H5.z has the largest effect in tiny: mean change of the score +0.6")


def test_it_is_drawn_in_notebooks_and_on_given_axes():
    from matplotlib.figure import Figure

    found, axes = effects(), Figure().subplots()
    assert found.plot(axes) is axes
    assert next(text.get_text() for text in axes.get_yticklabels()) == "L0.H5.z"
    assert "<svg" in found._repr_html_() and "largest effect" in found._repr_html_()
    assert found.plot().get_xlabel() == "share of the gap"


def test_the_report_begins_with_the_verdict_and_the_map(tmp_path):
    page = effects().write_report(tmp_path / "report.html", {"command": "x"}).read_text()
    assert page.index("has the largest effect") < page.index("<svg") < page.index("<table")
    assert "Other estimates of the same effects" in page
    hidden = effects(hide_insignificant=True).figures()["heads"]
    assert hidden != effects().figures()["heads"], "what is not significant is blank"


def test_rows_are_a_data_frame():
    found = effects()
    assert isinstance(found.to_pandas(), pd.DataFrame) and len(found) == 48
    assert "frame" not in found.to_json() and "pair_frame" not in found.to_json()
