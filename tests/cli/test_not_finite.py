"""A ranker whose scores are NaN or infinite stops every command: which pair, which ranker; nothing is written."""

import json

import pytest
from safetensors.torch import load_file, save_file

from tests.cli.run import one_line, whyrank
from tests.edits.dialed import cross_encoder, idf_file
from whyrank.cli.app import app
from whyrank.rankers.ranker import ScoreNotFinite

WORDS = ["cat", "dog", "tree", "house", "people", "mat", "berlin", "red", "blue", "fast"]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A cross-encoder with finite but huge weights, a collection of ten queries, a pair, and what edits need."""
    folder = tmp_path_factory.mktemp("broken")
    idf_file(cross_encoder(folder / "broken"), folder / "idf.tsv")
    path = folder / "broken" / "model.safetensors"
    huge = {name: weight * (1e38 if "2.output.dense" in name else 1) for name, weight in load_file(path).items()}
    save_file(huge, path, metadata={"format": "pt"})
    _write_collection(folder / "c")
    pair = {"id": "p7", "query": "how many cat", "baseline": "the red dog", "perturbed": "the red cat"}
    (folder / "pairs.jsonl").write_text(json.dumps(pair) + "\n")
    (folder / "terms.txt").write_text("cat\n")
    return folder


def _write_collection(folder):
    (folder / "qrels").mkdir(parents=True)
    documents = [{"_id": f"d-{word}", "text": f"the {word} sat on the mat in a house"} for word in WORDS]
    queries = [{"_id": f"q-{word}", "text": f"how many {word}"} for word in WORDS]
    (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, documents)))
    (folder / "queries.jsonl").write_text("\n".join(map(json.dumps, queries)))
    judged = "".join(f"q-{word}\td-{word}\t1\n" for word in WORDS)
    (folder / "qrels" / "test.tsv").write_text(f"query-id\tcorpus-id\tscore\n{judged}")


def arguments(command, files, out):
    collection, idf = ["--collection", files / "c"], ["--idf", files / "idf.tsv"]
    more = {
        "rank": collection,
        "audit": [*collection, "--axiom", "tfc1", "--no-wordnet"],
        "patch": ["--pairs", files / "pairs.jsonl"],
        "edit": ["--up", "cat=9", "--preview", *collection, *idf],
        "suppress": ["--terms", files / "terms.txt", *collection, *idf],
        "semantic-bm": [*collection, "--heads", "1.2"],
        "circuit": ["--pairs", files / "pairs.jsonl"],
    }
    return [*map(str, [command, "--ranker", files / "broken", *more[command], "-o", out])]


@pytest.mark.parametrize("command", ["audit", "patch", "edit", "suppress", "semantic-bm", "circuit"])
def test_a_score_that_is_not_finite_stops_a_command(files, tmp_path, command):
    with pytest.raises(ScoreNotFinite, match=r"broken: the score of .* is (nan|-?inf)") as caught:
        app(arguments(command, files, tmp_path / "run"), standalone_mode=False)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "run" / "manifest.json").exists()


def test_rank_ends_with_2_and_writes_no_run(files, tmp_path):
    line = one_line(whyrank(*arguments("rank", files, tmp_path / "run")))
    assert "broken: the score of query 'how many" in line and "document 'the " in line and "is nan" in line
    assert not (tmp_path / "run" / "run.trec").exists()
