"""The verbs `train` and `finetune` from Python: typed results that are written, read and not computed twice."""

import json

import jsonschema
import pytest

import whyrank
from tests.learning.small import COLLECTION, FIRST, cross_encoder
from tests.learning.tiny_networks import register
from tests.learning.tiny_training import QUICK, backbone
from whyrank.collections.formats import read_run
from whyrank.core.caller import Caller
from whyrank.core.errors import UserError
from whyrank.learning.finetuning.results import FineTuning
from whyrank.learning.finetuning.tuner import FineTuner
from whyrank.learning.results import Training
from whyrank.learning.trainer import Trainer

TUNE = {"conditions": "full", "seeds": 2, "epochs": 1, "rate": 3e-3, "batch": 8, "depth": 8, "max_length": 24}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with a finished training and a finished fine-tuning."""
    folder = tmp_path_factory.mktemp("results")
    with pytest.MonkeyPatch.context() as patched:
        register(patched)
        train(folder, out=folder / "train")
        finetune(folder, out=folder / "finetune")
    return folder


def train(folder, **more):
    how = {**QUICK, "folds": 3, "seeds": 2, "run": FIRST, "epochs": 1, **more}
    return whyrank.train("tiny-cls", backbone(folder), COLLECTION, **how)


def finetune(folder, **more):
    return whyrank.finetune(cross_encoder(folder / "start"), COLLECTION, run=FIRST, **{**TUNE, **more})


@pytest.mark.parametrize(("name", "kind"), [("train", Training), ("finetune", FineTuning)])
def test_a_result_is_the_same_after_writing_and_reading(place, name, kind, tmp_path):
    found = kind.read(place / name)
    value = json.loads((place / name / kind.FILE).read_text())
    jsonschema.Draft202012Validator(kind.schema()).validate(value)
    assert value["format"] == 2 and kind.from_json(value).to_json() == value
    paths = found.save(tmp_path / "again")
    assert {"report.html", "curves.svg", "means.svg", kind.FILE} <= {path.name for path in paths}
    assert kind.read(tmp_path / "again") == found
    for one in found.models:
        assert one.chosen < len(one.history) == 2 and (place / name / one.model).is_dir()
    assert found.best.validation == max(one.validation for one in found.models)


@pytest.mark.parametrize(("name", "kind"), [("train", Training), ("finetune", FineTuning)])
def test_the_rows_the_figure_and_the_verdict(place, name, kind):
    found = kind.read(place / name)
    frame = found.to_pandas()
    measures, queries = {row.measure for row in found.means}, found.means[0].mean.queries
    trainings = len(found.models) / (3 if name == "train" else 1)
    assert len(frame) == len(measures) * queries * trainings
    first = found.models[0]
    mine = frame[(frame.seed == first.seed) & (frame.iloc[:, 0] == getattr(first, frame.columns[0]))]
    measure = found.means[-1].measure
    mine = mine[mine.measure == measure]
    assert dict(zip(mine.qid, mine.value, strict=True)) == first.test[measure]
    labels = [label.get_text() for label in found.plot().get_yticklabels()]
    assert "first stage" in labels
    assert len(found.verdict()) <= 3 and repr(found).startswith(f"{kind.__name__}: ")
    page = (place / name / "report.html").read_text()
    assert page.index('aria-label="Verdict"') < page.index("<svg") < page.index("<table>")
    assert "<svg" in found._repr_html_()


def test_finished_work_is_decoded_and_not_done_again(place, monkeypatch):
    register(monkeypatch)
    monkeypatch.setattr(Trainer, "run", lambda *_: pytest.fail("trained twice"))
    monkeypatch.setattr(FineTuner, "run", lambda *_: pytest.fail("trained twice"))
    said = []
    caller = Caller(say=said.append)
    assert train(place, out=place / "train", caller=caller) == Training.read(place / "train")
    assert finetune(place, out=place / "finetune", caller=caller) == FineTuning.read(place / "finetune")
    assert sum("holds this result already" in line for line in said) == 2
    with pytest.raises(UserError, match=r"settings\.training\.epochs was 1 and is 2"):
        train(place, out=place / "train", epochs=2)
    with pytest.raises(UserError, match=r"settings\.epochs was 1 and is 2"):
        finetune(place, out=place / "finetune", epochs=2)


def test_the_runs_are_those_that_were_measured(place):
    found = Training.read(place / "train")
    assert [read_run(place / "train" / "runs" / f"seed{seed}.trec") for seed in (0, 1)] == list(found.runs)
    assert {qid for run in found.runs for qid in run} == found.tested


def test_without_a_folder_the_numbers_are_the_same_and_no_model_is_kept(place, monkeypatch):
    register(monkeypatch)
    once, again = Training.read(place / "train"), train(place)
    assert again.means == once.means and again.differences == once.differences and again.runs == once.runs
    assert {one.model for one in again.models} == {None} and again.best is None
    tuned = finetune(place)
    assert tuned.means == FineTuning.read(place / "finetune").means
    assert {one.model for one in tuned.models} == {None}


def test_options_speak_of_parameters():
    with pytest.raises(UserError, match=r"no model is given; give model, or model = \.\.\. in a config file"):
        whyrank.train(backbone="b", collection="c")
    with pytest.raises(UserError, match=r"seeds is 0; give 1 or more"):
        whyrank.train("bert", "b", "c", seeds=0)
    with pytest.raises(UserError, match="bert has no setting 'epohcs'; did you mean epochs"):
        whyrank.train("bert", "b", "c", epohcs=3)
    with pytest.raises(UserError, match="unknown condition 'ful'"):
        whyrank.finetune("r", "c", conditions="ful")
