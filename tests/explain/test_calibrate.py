"""What a score means: counts by hand, the page, the command, and what is refused."""

import json

import jsonschema
import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression

import whyrank
from tests.cli.run import one_line, whyrank_here
from tests.cli.run import whyrank as command
from whyrank.collections.records import Retrieved
from whyrank.collections.trec import write_run
from whyrank.core.errors import UserError
from whyrank.explain.calibration import Calibration


def judged_run(queries=12, documents=20, level=0.0, seed=0):
    """A run of documents whose grade goes with their score; the last three of each query are not judged. `level`:
    how far the scores of queries are apart."""
    generator = np.random.default_rng(seed)
    run, qrels = {}, {}
    for qid in (f"q{i}" for i in range(queries)):
        plain = generator.normal(size=documents)
        chance = 1 / (1 + np.exp(-2 * plain))
        grades = generator.binomial(2, chance).tolist()
        scores = plain + level * generator.normal()
        run[qid] = {f"d{i}": score for i, score in enumerate(scores.tolist())}
        qrels[qid] = {f"d{i}": grade for i, grade in enumerate(grades[:-3])}
    return run, qrels


RUN, QRELS = judged_run()


def written(folder, run, qrels):
    """The run and its judgements as TREC files."""
    rows = {
        qid: [Retrieved(qid, docid, rank, found[docid], "t")
              for rank, docid in enumerate(sorted(found, key=found.get, reverse=True), start=1)]
        for qid, found in run.items()
    }  # fmt: skip
    write_run(folder / "a.trec", rows)
    lines = [f"{qid} 0 {docid} {grade}" for qid, found in qrels.items() for docid, grade in found.items()]
    (folder / "qrels").write_text("\n".join(lines) + "\n")


def test_unjudged_documents_are_dropped_unless_taken_as_not_relevant():
    found = whyrank.calibrate(RUN | {"x": {"d0": 1.0}}, QRELS).sample
    assert (found.queries, found.documents, found.unjudged, found.unjudged_queries) == (12, 12 * 17, 36, 1)
    assert found.relevant == sum(grade >= 1 for grades in QRELS.values() for grade in grades.values())
    assumed = whyrank.calibrate(RUN, QRELS, assume_not_relevant=True)
    assert assumed.sample.documents == 12 * 20 and assumed.sample.relevant == found.relevant
    assert "36 unjudged documents were taken as not relevant" in assumed.verdict()[-1]
    frame = assumed.to_pandas()
    assert (frame[frame.docid.isin(["d17", "d18", "d19"])].grade == 0).all()


def test_what_a_score_means_is_scikit_learns_fit():
    found = whyrank.calibrate(RUN, QRELS, min_grade=2)
    pairs = [(RUN[qid][docid], grade) for qid, grades in QRELS.items() for docid, grade in grades.items()]
    scores, grades = np.array(pairs).T
    asked = np.linspace(-4, 4, 57)
    for values, ours in ((grades >= 2, found.probability), (grades, found.grade)):
        model = IsotonicRegression(out_of_bounds="clip").fit(scores, values)
        assert [ours(one) for one in asked] == pytest.approx(model.predict(asked), abs=1e-6)


def test_negative_grades_are_grade_0():
    negative = {qid: {docid: grade or -2 for docid, grade in grades.items()} for qid, grades in QRELS.items()}
    assert whyrank.calibrate(RUN, negative).knots == whyrank.calibrate(RUN, QRELS).knots


def test_the_cut_off_counts_what_passes():
    cut = whyrank.calibrate(RUN, QRELS, want_precision=0.85).cut_off
    passing = [(qid, docid) for qid in RUN for docid, score in RUN[qid].items() if score >= cut.score]
    assert cut.passing == len(passing)
    assert cut.unjudged == sum(docid not in QRELS[qid] for qid, docid in passing) > 0
    assert 0.6 < cut.precision.low < cut.precision.value < cut.precision.high <= 1
    assert cut.documents == cut.precision.pairs and cut.queries == cut.precision.queries


def test_a_precision_that_nothing_reaches_is_said():
    flat = {qid: dict.fromkeys(found, 1.0) for qid, found in RUN.items()}
    found = whyrank.calibrate(flat, QRELS, want_precision=0.99)
    assert found.cut_off.score is None and found.cut_off.passing == 0
    assert "No cut-off reaches a precision of 99%." in found.verdict()
    assert found.verdict()[0].startswith("The score says no more of relevance than the base rate")


def test_few_queries_have_no_interval():
    run, qrels = judged_run(queries=5)
    found = whyrank.calibrate(run, qrels, want_precision=0.7)
    estimates = (found.skill, found.brier, found.grades_explained, found.separation.lost, found.cut_off.precision)
    assert [one.no_interval for one in estimates] == ["too few queries"] * 5
    assert "too few queries" in found.verdict()[0] and "cannot be said (too few queries)" in found.verdict()[3]


@pytest.mark.parametrize(("level", "said"), [(0.0, False), (4.0, True)])
def test_scores_that_are_on_no_common_scale_are_said(level, said):
    run, qrels = judged_run(queries=20, level=level)
    verdict = whyrank.calibrate(run, qrels).verdict()
    assert any("are not on one scale" in sentence for sentence in verdict) == said


def test_grades_of_two_kinds_have_no_r2_of_their_own():
    binary = {qid: {docid: min(1, grade) for docid, grade in grades.items()} for qid, grades in QRELS.items()}
    found = whyrank.calibrate(RUN, binary)
    assert found.grades_explained is None and "grades" not in found.verdict()[0]


def test_a_calibration_is_saved_and_read_and_its_page_begins_with_the_verdict(tmp_path):
    found = whyrank.calibrate(RUN, QRELS, want_precision=0.8, out=tmp_path / "c")
    assert Calibration.read(tmp_path / "c") == found
    jsonschema.validate(json.loads((tmp_path / "c" / "calibration.json").read_text()), Calibration.schema())
    assert whyrank.calibrate(RUN, QRELS, want_precision=0.8, out=tmp_path / "c") == found
    page = (tmp_path / "c" / "report.html").read_text()
    assert page.index("The score explains") < page.index("<svg") and page.count("<svg") == 2
    assert page.index("no random sample") < page.index("<svg")
    assert len(found.plot().lines) > 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"qrels": {"q0": {"z": 1}, "q1": {"z": 1}}}, "no document of this run is judged"),
        ({"qrels": {"z": {"d0": 1}}}, "no document of this run is judged"),
        ({"qrels": {"q0": {"d0": 1, "d1": 0}}}, "one query of this run is judged"),
        ({"min_grade": 3}, "of 204 judged documents none is relevant .grade 3 or more"),
        ({"qrels": {"q0": {"d0": 1}, "q1": {"d0": 1}}}, "of 2 judged documents every one is relevant"),
        ({"run": {**RUN, "q0": {"d0": float("inf")}}}, "a score of this run is infinite"),
        ({"run": {**RUN, "q0": {"d0": float("nan")}}}, "is NaN"),
        ({"min_grade": 0}, "min_grade cannot be 0"),
        *(({"want_precision": one}, "want_precision cannot be") for one in (0, 1, 90, -0.1, float("nan"), "0.9")),
    ],
)
def test_bad_input_is_refused(options, message, tmp_path):
    with pytest.raises(UserError, match=message):
        whyrank.calibrate(**{"run": RUN, "qrels": QRELS, "out": tmp_path / "c", **options})
    assert not (tmp_path / "c").exists()


def test_the_command_says_the_verdict_and_the_table(tmp_path):
    written(tmp_path, RUN, QRELS)
    done = command("eval", "a.trec", "--qrels", "qrels", "--calibrate", "--want-precision", "0.8", "-o", "c",
                   cwd=tmp_path)  # fmt: skip
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stdout.split())
    found = Calibration.read(tmp_path / "c")
    assert said.startswith(found.verdict()[0]) and "expected grade" in said
    assert found.cut_off == whyrank.calibrate(tmp_path / "a.trec", tmp_path / "qrels", want_precision=0.8).cut_off


def test_the_command_prints_json(tmp_path, capfd):
    written(tmp_path, RUN, QRELS)
    paths = (tmp_path / "a.trec", "--qrels", tmp_path / "qrels")
    whyrank_here("eval", *paths, "--calibrate", "--min-grade", "2", "--assume-not-relevant", "--json")
    printed = json.loads(capfd.readouterr().out)
    assert Calibration.from_json(printed).sample.min_grade == 2 and printed["sample"]["assumed"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--want-precision", "0.9"], "--want-precision is an option of --calibrate; add --calibrate"),
        (["--assume-not-relevant"], "--assume-not-relevant is an option of --calibrate"),
        (["b", "--calibrate"], "--calibrate takes one run, not 2"),
        (["--calibrate", "-m", "AP"], "--calibrate measures nothing"),
    ],
)
def test_options_that_do_not_go_together_are_refused(options, message, tmp_path):
    assert message in one_line(command("eval", "a", "--qrels", "q", *options, cwd=tmp_path))
