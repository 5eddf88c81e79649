"""The term-frequency study of two small rankers from beginning to end."""

import json
from contextlib import contextmanager

import jsonschema
import pytest

import whyrank
from tests.checkpoints import save
from tests.papers.small_study import one_set, small, with_set
from whyrank.cli.study import show_atlas
from whyrank.core.caller import Caller
from whyrank.core.errors import UserError
from whyrank.papers.term_frequency.atlas import Atlas, atlas
from whyrank.papers.term_frequency.results import TermFrequencyStudy
from whyrank.papers.term_frequency.sizes import Sizes
from whyrank.papers.term_frequency.study import study

SMALL = Sizes(
    queries=4, ask=1, pairs=4, others=2, blocks=2, flow=2, counting=2, most_k=4, audit=4, max_length=48
)  # fmt: skip


@pytest.mark.slow
def test_the_whole_study(tmp_path, real):
    real("bi-minilm-l3"), real("bi-minilm-l6")
    out, said = tmp_path / "run", []
    caller = Caller(say=said.append)
    found = whyrank.study(
        "term-frequency", ranker=["bi-minilm-l3", "bi-minilm-l6"], collection="demo", out=out, sizes=SMALL,
        caller=caller,
    )  # fmt: skip
    for name, layers in (("bi-minilm-l3", 3), ("bi-minilm-l6", 6)):
        one = TermFrequencyStudy.read(out / name)
        jsonschema.validate(
            json.loads((out / name / "term_frequency.json").read_text()), TermFrequencyStudy.schema()
        )
        assert {"append", "prepend", "middle", "null", "minimal context, prepend"} <= set(one.sets)
        assert (out / name / "effects-append.parquet").is_file()
        assert len(one.append.heads) == 12 * layers == len(one.estimators)
        assert one.leading and {row.layer for row in one.flow} == set(range(layers + 1))
        first = {row.category: row.stands.value for row in one.flow if row.layer == 0}
        assert first["inj"] == pytest.approx(1.0, abs=1e-3), "before layer 0 only the injected term differs"
        assert [p.k for p in one.counting.variants["cumulative"].violations.points] == [1, 2, 3, 4]
        assert one.questions.audits["TFC1:append"]
        page = (out / name / "report.html").read_text()
        assert "TAS-B" in page and not [path for path in (out / name).iterdir() if path.name.startswith(".")]
    assert Atlas.read(out) == found
    assert [page.ranker for page in found.rankers] == ["bi-minilm-l3", "bi-minilm-l6"]
    assert found.alike[0].map is None, "maps of 3 and 6 layers are not compared head by head"
    assert 'href="bi-minilm-l3/report.html"' in (out / "report.html").read_text()
    said.clear()
    study(["bi-minilm-l3", "bi-minilm-l6"], "demo", out=out, sizes=SMALL, caller=caller)
    assert sum("holds this result already" in line for line in said) == 2
    study(["bi-minilm-l3"], "demo", out=out, sizes=SMALL, hide_insignificant=True)
    assert len(Atlas.read(out).rankers) == 1 and TermFrequencyStudy.read(out / "bi-minilm-l3").hide_insignificant
    with pytest.raises(UserError, match="other inputs"):
        study("bi-minilm-l3", "demo", out=out, sizes=SMALL, seed=1)


def test_lexical_rankers_and_twins_are_refused(tmp_path):
    with pytest.raises(UserError, match="cannot be opened"):
        study("bm25", "demo", out=tmp_path / "run", sizes=SMALL)
    twins = [str(save(tmp_path / place / "bi")) for place in ("one", "two")]
    with pytest.raises(UserError, match="two rankers of one name"):
        study(twins, "demo", out=tmp_path / "run", sizes=SMALL)


def test_an_unknown_term_is_refused_before_anything_is_read(tmp_path):
    out = tmp_path / "tf"
    with pytest.raises(UserError, match="term policy"):
        study("no-such-ranker", "no-such-collection", out=out, sizes=SMALL, term="foo")
    assert not out.exists()


FEW = Sizes(
    queries=3, ask=1, pairs=4, others=2, blocks=2, flow=1, counting=2, most_k=2, audit=4, max_length=32,
    pool="candidates",
)  # fmt: skip


class Killed(BaseException):
    """What a kill is to the code that runs."""


@contextmanager
def killed_at(name, total, unit):
    """The progress of a step; the work ends in the middle of the blocks."""
    if name == "blocks":
        raise Killed
    yield lambda count: None


@pytest.mark.slow
def test_a_killed_study_goes_on_and_ends_as_if_it_had_not_been_killed(tmp_path):
    """Stages and shards of the types that are kept can be read again."""
    ranker, steps = str(save(tmp_path / "bi")), []
    with pytest.raises(Killed):
        study(ranker, "demo", out=tmp_path / "out", sizes=FEW, caller=Caller(progress=killed_at))
    kept = next((tmp_path / "out" / "bi").glob(".stages-*"))
    assert {"top.json", "terms.json"} <= {path.name for path in kept.glob("*.json")}

    @contextmanager
    def step(name, total, unit):
        steps.append(name)
        yield lambda count: None

    resumed = study(ranker, "demo", out=tmp_path / "out", sizes=FEW, caller=Caller(progress=step))
    assert "own top 100" not in steps and "strongest terms" not in steps and "blocks" in steps
    assert not list((tmp_path / "out" / "bi").glob(".stages-*"))
    (whole,) = study(ranker, "demo", out=tmp_path / "whole", sizes=FEW).studies
    assert resumed.studies == (whole,) == (TermFrequencyStudy.read(tmp_path / "out" / "bi"),)


def test_the_command_prints_a_row_for_each_ranker(capsys):
    show_atlas(atlas([small(), with_set("append", one_set({}), ranker="other")], ["bi-tiny", "other"]))
    rows = [line.split("│")[1:-1] for line in capsys.readouterr().out.splitlines() if line.startswith("│")]
    found = {row[0].strip(): [cell.strip() for cell in row[1:4]] for row in rows}
    assert found["bi-tiny"] == ["2", "0.60 [0.55, 0.65]", "1.0 0.40 [0.35, 0.45]"] and "other" in found
