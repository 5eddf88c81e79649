"""`whyrank circuit` from the outside, on a tiny cross-encoder."""

import json

import jsonschema
import pytest

from tests.checkpoints import save
from tests.circuits.test_evidence import counting_pairs
from tests.circuits.test_hops import many
from tests.circuits.test_search import pairs
from tests.cli.run import one_line, whyrank
from whyrank.axioms.pair import MinimalPair, write_pairs
from whyrank.circuits.results import Circuit


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A ranker and pairs of four axioms."""
    place = tmp_path_factory.mktemp("circuit")
    save(place / "ce", head="AutoModelForSequenceClassification")
    save(place / "bi")
    for axiom in ("TFC1", "STMC1"):
        write_pairs(place / f"{axiom}.jsonl", pairs(axiom, 12))
    write_pairs(place / "TFC2.jsonl", counting_pairs())
    write_pairs(place / "LNC1.jsonl", [
        MinimalPair(f"l{k}", "red cat", "the dog sat", "the dog sat" + " people live" * k, axiom="LNC1",
                    variant="sentences", aligned=False, prefer="baseline", k=k, qid=f"q{k}") for k in (1, 2)
    ])  # fmt: skip
    return place


def call(folder, *more, ranker="ce"):
    files = [word for name in ("TFC1", "STMC1", "TFC2", "LNC1") for word in ("--pairs", folder / f"{name}.jsonl")]
    small = ["--threshold", "relative=0.4", "--decide", "point", "--pairs-to-heads", "8", "--randoms", "2"]
    return whyrank("circuit", "--ranker", folder / ranker, *files, "--select", "gap", *small, "--search-steps",
                   "2", *more)  # fmt: skip


@pytest.mark.slow
def test_what_it_writes(folder, tmp_path):
    done = call(folder, "-o", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "run" / "circuit.json").read_text())
    jsonschema.validate(found, Circuit.schema())
    written = {path.name for path in (tmp_path / "run").iterdir()}
    assert {"manifest.json", "report.html", "graph.svg", "tests.svg", "to-logits.svg", "pairs.parquet"} <= written
    assert not [name for name in written if name.startswith(".")], "nothing half-done is left"
    assert set(found["faithfulness"]) == {"TFC1", "STMC1"}
    senders = {edge["sender"] for edge in found["edges"] if edge["status"] == "kept"} - {"embed"}
    assert {one["head"] for one in found["heads"]} == senders
    named = {head for heads in found["roles"].values() for head in heads}
    assert named == {one["head"] for one in found["heads"]} and len(found["tests"]["heads"]) == 12
    again = call(folder, "-o", tmp_path / "again", "--json")
    assert again.returncode == 0
    assert (tmp_path / "again" / "circuit.json").read_text() == (tmp_path / "run" / "circuit.json").read_text()
    assert json.loads(again.stdout) == found
    once_more = call(folder, "-o", tmp_path / "run")
    assert "holds this result already" in once_more.stderr and once_more.stdout == done.stdout


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--threshold", "relative=7"], "threshold relative=7"),
        (["--threshold", "big=0.3"], "no threshold is called 'big'"),
        (["--decide", "luck"], "cannot decide by 'luck'"),
        (["--pairs", "nowhere.jsonl"], "no such file"),
        (["--threshold", "share=1", "--decide", "point"], "no head passes the threshold share=1"),
    ],
)
def test_bad_input_is_told_in_one_line(folder, tmp_path, more, said):
    done = call(folder, "-o", tmp_path / "run", *more)
    assert said in one_line(done)
    assert not (tmp_path / "run" / "circuit.json").exists()


def test_a_bi_encoder_is_refused(folder, tmp_path):
    said = one_line(call(folder, "-o", tmp_path / "run", ranker="bi"))
    assert "not a cross-encoder" in said and "ce-minilm-l12" in said


SMALL = (
    "--threshold", "deviations=0.8", "--pairs-to-select", "28", "--pairs-to-logits", "28", "--pairs-to-heads",
    "28", "--randoms", "1", "--search-steps", "1",
)  # fmt: skip


@pytest.fixture(scope="module")
def enough(folder):
    """Two files of pairs of fourteen queries."""
    for axiom in ("TFC1", "STMC1"):
        write_pairs(folder / f"{axiom}-many.jsonl", many(axiom))
    return [word for name in ("TFC1", "STMC1") for word in ("--pairs", folder / f"{name}-many.jsonl")]


def test_heads_that_are_brought_beside_those_that_are_found(folder, enough, tmp_path):
    (tmp_path / "mine.txt").write_text("matching=0.1\nscoring=2.1  # mine\n")
    done = whyrank("circuit", "--ranker", folder / "ce", *enough, *SMALL, "--heads", tmp_path / "mine.txt", "-o",
                   tmp_path / "run")  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "run" / "circuit.json").read_text())
    jsonschema.validate(found, Circuit.schema())
    assert found["format"] == 3 and found["brought"]["name"] == "mine.txt" and found["selection"]["tested"]
    assert "chosen on one half of the queries" in done.stderr and "2 heads brought (mine.txt) keep" in done.stderr
    assert done.stdout.count("the circuit of") == 2 and "brought (mine.txt)" in done.stdout


def test_brought_heads_alone(folder, enough, tmp_path):
    done = whyrank("circuit", "--ranker", folder / "ce", *enough, *SMALL, "--heads", "0.1,2.1", "--no-search",
                   "-o", tmp_path / "run")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "measuring heads of" in done.stderr and "brought (given)" in done.stdout
    found = json.loads((tmp_path / "run" / "circuit.json").read_text())
    assert [one["head"] for one in found["heads"]] == ["L0.H1", "L2.H1"] and found["brought"] is None


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--heads", "paper"], "the paper's heads are of ms-marco-minilm-l-12-v2"),
        (["--heads", "matching=0.1,0.1"], "matching: 0.1 stands twice"),
        (["--heads", "mine.txt"], "neither heads nor a file"),
        (["--no-search"], "no search and no heads"),
        (["--select", "luck"], "select cannot be 'luck'"),
        (["--decide", "sure"], "belongs to select 'gap'"),
    ],
)
def test_bad_heads_are_told_in_one_line(folder, enough, tmp_path, more, said):
    done = whyrank("circuit", "--ranker", folder / "ce", *enough, *SMALL, *more, "-o", tmp_path / "run")
    assert said in one_line(done) and not (tmp_path / "run").exists()
