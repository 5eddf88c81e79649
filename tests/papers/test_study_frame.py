"""The frame of all studies: stages that are done are not done again, a refused one keeps the others, one door."""

from dataclasses import dataclass

import pytest

import whyrank
from whyrank.core.caller import Caller
from whyrank.core.errors import UserError
from whyrank.core.results import Result
from whyrank.core.runs import is_finished
from whyrank.pages.findings import AGREES, DIFFERS, OPEN, Finding, count_sentence, findings_frame, plot_verdicts
from whyrank.pages.page import Report
from whyrank.papers.study import Stage, Study, run_stages, run_study


@dataclass(frozen=True, repr=False)
class Found(Result):
    FILE = "study.json"

    stages: tuple[str, ...]

    def verdict(self):
        return [f"{len(self.stages)} stages."]

    def to_pandas(self):
        raise NotImplementedError

    def plot(self, axes=None):
        raise NotImplementedError

    def write_report(self, path, manifest):
        return Report("Study", "lead", self.verdict()).write(path, manifest)


@dataclass(frozen=True)
class TwoStages(Study):
    NAME = "two-stages"

    calls: list
    broken: Exception | None = None
    seed: int = 0

    def inputs(self):
        return {"seed": self.seed}

    def results(self, run):
        stages = [
            Stage("one", "First", self.first, run.path / "one.txt", {"word": "a", "quick": True, "left": None}),
            Stage(
                "two", "Second", self.second, run.path / "two.txt", {"word": lambda: "b", "files": ["x", "y z"]}
            ),
        ]
        yield Found(())
        yield Found(tuple(stage.command for stage in run_stages(run, stages)))

    def first(self, *, word, quick, left, out, caller):
        self.calls.append(("first", word, caller.asked))
        out.write_text(word)

    def second(self, *, word, files, out, caller):
        self.calls.append(("second", word, caller.asked))
        if self.broken:
            raise self.broken
        out.write_text(word)


def test_stages_that_are_done_are_not_done_again(tmp_path):
    calls, said = [], []
    caller = Caller("whyrank study", say=said.append)
    found = run_study(TwoStages(calls), tmp_path / "run", caller)
    commands = (
        f"whyrank first --word a --quick -o {tmp_path}/run/one.txt",
        f"whyrank second --word b --files x --files 'y z' -o {tmp_path}/run/two.txt",
    )
    assert calls == [("first", "a", commands[0]), ("second", "b", commands[1])], "asked for by their own commands"
    assert found.stages == commands and Found.read(tmp_path / "run") == found and is_finished(tmp_path / "run")
    again = run_study(TwoStages(calls), tmp_path / "run", caller)
    assert again == found and len(calls) == 2 and sum("done before" in line for line in said) == 2
    with pytest.raises(UserError, match="other inputs"):
        run_study(TwoStages(calls, seed=1), tmp_path / "run")


@pytest.mark.parametrize("error", [UserError("no such head"), KeyboardInterrupt()])
def test_what_is_done_before_a_refusal_or_a_kill_stays(tmp_path, error):
    calls = []
    with pytest.raises(type(error)):
        run_study(TwoStages(calls, error), tmp_path / "run")
    assert Found.read(tmp_path / "run").stages == () and not is_finished(tmp_path / "run"), "the first draft"
    found = run_study(TwoStages(calls), tmp_path / "run")
    assert [name for name, *_ in calls] == ["first", "second", "second"] and len(found.stages) == 2


def test_studies_and_their_options_are_known_by_name(tmp_path):
    with pytest.raises(UserError, match="no study 'disentangle'; did you mean disentangled"):
        whyrank.study("disentangle", out=tmp_path / "run")
    with pytest.raises(UserError, match="semantic-circuit has no option 'rankers'; did you mean ranker"):
        whyrank.study("semantic-circuit", rankers="x", out=tmp_path / "run")
    with pytest.raises(UserError, match="disentangled has no option 'epoch'; did you mean epochs"):
        whyrank.study("disentangled", epoch=1, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_findings_are_counted_and_drawn():
    rows = [Finding("r", "0.5", "0.6", "9 pairs", verdict) for verdict in (AGREES, AGREES, DIFFERS, OPEN)]
    assert count_sentence(rows) == "Of 4 findings of the paper, 2 agree here, 1 differs, and 1 cannot be judged."
    assert list(findings_frame(rows)["verdict"]) == [AGREES, AGREES, DIFFERS, OPEN]
    assert [bar.get_width() for bar in plot_verdicts(rows).patches] == [2, 1, 1]


def test_a_study_takes_the_names_of_files_as_texts(tmp_path):
    with pytest.raises(UserError, match=r"words\.txt: no such file"):
        whyrank.study("semantic-circuit", terms=str(tmp_path / "words.txt"), out=tmp_path / "run")


def test_a_stage_that_cannot_be_run_is_passed_over_with_the_reason(tmp_path):
    said, run = [], []

    class OneStage(TwoStages):
        def results(self, place):
            stage = Stage("one", "First", self.first, place.path / "one.txt", unless=lambda: "nothing to count")
            run.append(run_stages(place, [stage]))
            yield Found((stage.obstacle(),))

    calls = []
    found = run_study(OneStage(calls), tmp_path / "run", Caller(say=said.append))
    assert found.stages == ("First: not run, nothing to count",) and run == [[]] and not calls
    assert any("First: not run, nothing to count" in line for line in said)
