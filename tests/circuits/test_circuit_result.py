"""`circuit` from Python: what it returns is what it writes, finished work is read, and `save` writes it all."""

import jsonschema
import pytest

from tests.checkpoints import save
from tests.circuits.test_evidence import counting_pairs
from tests.circuits.test_hops import many
from tests.circuits.test_search import pairs
from whyrank.axioms.pair import MinimalPair
from whyrank.circuits.api import circuit
from whyrank.circuits.results import Circuit
from whyrank.core.errors import UserError
from whyrank.rankers.load import load

SMALL = {
    "select": "gap", "threshold": "relative=0.4", "decide": "point", "pairs_to_heads": 6, "pairs_to_logits": 12,
    "randoms": 1, "search_steps": 1,
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
    assert result.leading_head() in {None, *(edge.sender for edge in result.kept(result.steps[0]))}


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
    monkeypatch.setattr(evidence, "RolesOfHeads", lambda *a, **k: pytest.fail("done again"))
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


HALVES = {
    "threshold": "deviations=0.8,share=0.01", "pairs_to_select": 28, "pairs_to_heads": 28, "pairs_to_logits": 28,
    "randoms": 1, "search_steps": 1,
}  # fmt: skip
OWN = "matching=0.1,1.2;scoring=2.1"


def enough():
    """Pairs of fourteen queries, and those that count."""
    return [*many("TFC1"), *many("STMC1"), *counting_pairs()]


@pytest.fixture(scope="module")
def beside(ranker, tmp_path_factory):
    """Heads found on one half and confirmed on the other, and others that were brought."""
    out = tmp_path_factory.mktemp("runs") / "beside"
    return circuit(ranker, enough(), out=out, heads=OWN, **HALVES), out


def test_heads_that_were_brought_stand_beside_those_found(beside, ranker):
    result, out = beside
    jsonschema.validate(result.to_json(), Circuit.schema())
    assert Circuit.read(out) == result
    given = result.brought
    assert given.was_brought and not result.was_brought and given.name == "given" and given.brought is None
    assert given.roles == {
        "scoring": ("L2.H1",), "contextualization": (), "matching": ("L0.H1", "L1.H2"), "other": (),
    }  # fmt: skip
    assert [one.head for one in given.heads] == ["L0.H1", "L1.H2", "L2.H1"]
    assert given.selection is None and [step.number for step in given.steps] == [0]
    assert set(given.faithfulness) == {"TFC1", "STMC1"} and given.count_not_flag and given.saturation
    assert given.matching_to_scoring.senders == ("L0.H1", "L1.H2") and given.u0_against_matching is not None
    assert result.selection.tested and result.decide == "confirmation on the other half"
    page = (out / "report.html").read_text()
    for said in ("Beside the heads that were brought", "How its heads were selected", "chosen on one half"):
        assert said in page
    assert any("brought" in sentence for sentence in result.verdict())


def test_brought_heads_alone_are_measured_as_beside(beside, ranker):
    alone = circuit(ranker, enough(), heads=OWN, search=False, **HALVES)
    assert alone.was_brought and alone.brought is None and "no search" in alone.ended
    for name in ("heads", "roles", "faithfulness", "count_not_flag", "saturation", "matching_to_scoring", "tests"):
        assert getattr(alone, name) == getattr(beside[0].brought, name), name


def test_a_brought_circuit_may_be_a_run(beside, ranker):
    _, out = beside
    found = circuit(ranker, enough(), heads=out, search=False, **HALVES)
    assert [one.head for one in found.heads] == [one.head for one in beside[0].heads]


def test_heads_without_roles_get_them_by_the_tests(ranker):
    found = circuit(ranker, enough(), heads="0.1,2.1", search=False, **HALVES)
    passed = {one.head: one.roles for one in found.tests.heads}
    assert all(one.roles == passed[one.head] for one in found.heads)


def test_without_pairs_to_search_with_brought_heads_are_measured_on_those_that_count(ranker):
    found = circuit(ranker, counting_pairs(), heads=OWN, search=False, **HALVES)
    assert set(found.faithfulness) == {"TFC2"} and found.count_not_flag
    with pytest.raises(UserError, match="no pairs to search with"):
        circuit(ranker, counting_pairs(), heads=OWN, **HALVES)


def test_what_was_killed_while_brought_heads_were_measured_goes_on(beside, ranker, tmp_path, monkeypatch):
    from whyrank.circuits import evidence

    real, calls = evidence.worked_example, []

    def stopped(*given):
        calls.append(given)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return real(*given)

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(evidence, "worked_example", stopped)
        circuit(ranker, enough(), out=tmp_path / "run", heads=OWN, **HALVES)
    monkeypatch.setattr(evidence, "faithfulness", lambda *a, **k: pytest.fail("done again"))
    assert circuit(ranker, enough(), out=tmp_path / "run", heads=OWN, **HALVES) == beside[0]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"search": False}, "nothing to measure"), ({"decide": "sure"}, "decide 'sure' belongs to select 'gap'"),
        ({"select": "luck"}, "select cannot be 'luck'"), ({"threshold": "relative=0.3"}, "belong to select 'gap'"),
        ({"heads": "paper"}, "the paper's heads are of"), ({"heads": "matching=9.9"}, "no layer 9"),
        ({"threshold": "deviations=99"}, "no head stands out in every set of pairs"),
    ],
)  # fmt: skip
def test_what_is_refused(ranker, more, said):
    with pytest.raises(UserError, match=said):
        circuit(ranker, enough(), **{**HALVES, **more})
