"""The term-frequency study of two small rankers from beginning to end."""

import json

import pytest

from whyrank.cli.study import run_term_frequency
from whyrank.core.errors import UserError
from whyrank.papers.term_frequency.sizes import Sizes

SMALL = Sizes(
    queries=4, ask=1, pairs=4, others=2, blocks=2, flow=2, counting=2, most_k=4, audit=4, max_length=48
)  # fmt: skip


@pytest.mark.slow
def test_the_whole_study(tmp_path, real, capfd):
    real("bi-minilm-l3"), real("bi-minilm-l6")
    out = tmp_path / "run"
    run_term_frequency(["bi-minilm-l3", "bi-minilm-l6"], "demo", out, SMALL)
    for name, layers in (("bi-minilm-l3", 3), ("bi-minilm-l6", 6)):
        told = json.loads((out / name / "term_frequency.json").read_text())
        assert {"append", "prepend", "middle", "null", "minimal context, prepend"} <= set(told["sets"])
        assert (out / name / "effects-append.parquet").is_file()
        assert len(told["heads"]) == 12 * layers == len(told["estimators"])
        assert told["leading"] and {row["layer"] for row in told["flow"]} == set(range(layers + 1))
        first = {row["category"]: row["stands"]["share"] for row in told["flow"] if row["layer"] == 0}
        assert first["inj"] == pytest.approx(1.0, abs=1e-3), "before layer 0 only the injected term differs"
        assert [p["k"] for p in told["tfc2"]["cumulative"]["violations"]["points"]] == [1, 2, 3, 4]
        assert told["questions"]["audit"]["TFC1:append"]
        page = (out / name / "report.html").read_text()
        assert "TAS-B" in page and not [path for path in (out / name).iterdir() if path.name.startswith(".")]
    found = json.loads((out / "atlas.json").read_text())
    assert [page["ranker"] for page in found["rankers"]] == ["bi-minilm-l3", "bi-minilm-l6"]
    assert found["alike"][0]["map"] is None, "maps of 3 and 6 layers are not compared head by head"
    assert 'href="bi-minilm-l3/report.html"' in (out / "report.html").read_text()
    capfd.readouterr()
    run_term_frequency(["bi-minilm-l3", "bi-minilm-l6"], "demo", out, SMALL)
    assert capfd.readouterr().err.count("done before") == 2
    run_term_frequency(["bi-minilm-l3"], "demo", out, SMALL, hide=True)
    assert len(json.loads((out / "atlas.json").read_text())["rankers"]) == 1
    with pytest.raises(UserError, match="other inputs"):
        run_term_frequency(["bi-minilm-l3"], "demo", out, SMALL, seed=1)


def test_lexical_rankers_and_twins_are_refused(tmp_path):
    with pytest.raises(UserError, match="cannot be opened"):
        run_term_frequency(["bm25"], "demo", tmp_path / "run", SMALL)


def test_an_unknown_term_is_refused_before_anything_is_read(tmp_path):
    out = tmp_path / "tf"
    with pytest.raises(UserError, match="term policy"):
        run_term_frequency(["no-such-ranker"], "no-such-collection", out, SMALL, "foo")
    assert not out.exists()
