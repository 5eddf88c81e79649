"""`circuit` from Python: what it returns is what it writes, finished work is read, and `save` writes it all."""

import jsonschema
import pytest

from tests.checkpoints import save
from tests.circuits.test_evidence import counting_pairs
from tests.circuits.test_search import pairs
from whyrank.axioms.pair import MinimalPair
from whyrank.circuits.api import circuit
from whyrank.circuits.results import Circuit
from whyrank.core.errors import UserError
from whyrank.rankers.load import load

SMALL = {
    "threshold": "relative=0.4", "decide": "point", "pairs_to_heads": 6, "pairs_to_logits": 12, "randoms": 1,
    "search_steps": 1,
}  # fmt: skip


def own_pairs():
    longer = [
        MinimalPair(f"l{k}", "red cat", "the dog sat", "the dog sat" + " people live" * k, axiom="LNC1",
                    variant="sentences", aligned=False, prefer="baseline", k=k, qid=f"q{k}") for k in (1, 2)
    ]  # fmt: skip
    return [*pairs("TFC1", 12), *pairs("STMC1", 12), *counting_pairs()], longer


@pytest.fixture(scope="module")
def ranker(tmp_path_factory):
    return load(str(save(tmp_path_factory.mktemp("ce"), head="AutoModelForSequenceClassification")))


@pytest.fixture(scope="module")
def done(ranker, tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "run"
    return circuit(ranker, own_pairs()[0], out=out, **SMALL), out


def test_the_file_is_the_result(done):
    result, out = done
    jsonschema.validate(result.to_json(), Circuit.schema())
    assert Circuit.read(out) == result and Circuit.from_json(result.to_json()) == result
    assert (
        result.roles["matching"] and result.saturation and result.count_not_flag and result.counted == "cumulative"
    )
    assert len(result.to_pandas()) == len(result.edges) and len(result.pair_frame) == len(own_pairs()[0])
    assert {edge.sender for edge in result.kept(result.steps[0])} >= {result.leading_head()}


def test_finished_work_is_not_done_again(done, ranker, monkeypatch):
    result, out = done
    monkeypatch.setattr("whyrank.circuits.api.find_circuit", lambda *a, **k: pytest.fail("done again"))
    assert circuit(ranker, own_pairs()[0], out=out, **SMALL) == result
    with pytest.raises(UserError, match="other inputs"):
        circuit(ranker, own_pairs()[0], out=out, **{**SMALL, "randoms": 2})


def test_stages_that_are_done_are_not_done_again(ranker, tmp_path, monkeypatch, done):
    from whyrank.circuits import evidence

    def stopped(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(evidence, "worked_example", stopped)
        circuit(ranker, own_pairs()[0], out=tmp_path / "run", **SMALL)
    monkeypatch.setattr(evidence, "faithfulness", lambda *a, **k: pytest.fail("done again"))
    monkeypatch.setattr(evidence, "assign_roles", lambda *a, **k: pytest.fail("done again"))
    assert circuit(ranker, own_pairs()[0], out=tmp_path / "run", **SMALL) == done[0]


def test_save_writes_what_the_command_writes(done, tmp_path):
    result, out = done
    names = {path.name for path in result.save(tmp_path / "saved")}
    assert names | {"manifest.json"} == {path.name for path in out.iterdir()}
    assert Circuit.read(tmp_path / "saved") == result
    assert Circuit.read(tmp_path / "saved").pair_frame.equals(result.pair_frame)


def test_it_says_what_was_found_first(done):
    result, out = done
    first, second, *_ = result.verdict()
    assert first.startswith("The score of") and "heads" in first and "of the gap reaches the logits" in first
    assert "Alone it keeps" in second and repr(result).startswith("Circuit: The score of")
    page = (out / "report.html").read_text()
    assert page.index("Alone it keeps") < page.index("<svg") < page.index("<table")
    axes = result.plot()
    assert {text.get_text() for text in axes.texts} >= {"embed", "logits"}
    assert result._repr_html_().count("<svg") == 1


def test_pairs_of_length_alone_are_no_circuit(ranker):
    with pytest.raises(UserError, match="no pairs to search with"):
        circuit(ranker, own_pairs()[1])
