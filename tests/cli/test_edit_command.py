"""`whyrank edit` from the outside: preview, save, the experiment, and what it refuses."""

import json

import jsonschema
import numpy as np
import pytest

from tests.cli.run import one_line, whyrank
from tests.edits.dialed import COLLECTION, cross_encoder, idf_file, write_collection
from whyrank.collections.formats import read_run
from whyrank.edits.experiment import TwoTokenExperiment
from whyrank.edits.results import EditPreview
from whyrank.rankers.load import load


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    """A folder with a tiny ranker, an IDF for it, and a small collection."""
    folder = tmp_path_factory.mktemp("edit")
    ranker = cross_encoder(folder / "ranker")
    idf_file(ranker, folder / "idf.tsv")
    write_collection(folder / "collection")
    return folder


def result(folder):
    written = json.loads((folder / "edit.json").read_text())
    kind = TwoTokenExperiment if written["what"] == "experiment" else EditPreview
    jsonschema.validate(written, kind.schema())
    assert not [path for path in folder.iterdir() if path.name.startswith(".")], "nothing half-done is left"
    return written


def edit(here, *how):
    return whyrank("edit", "--ranker", here / "ranker", "--idf", here / "idf.tsv", *how)


def test_what_is_saved_scores_as_was_previewed(here, tmp_path):
    out, new = tmp_path / "run", tmp_path / "new"
    how = ["--up", "cat=40", "--down", "house=15", "--down", "red tree=9", "--collection", here / "collection"]
    done = edit(here, *how, "--preview", "--depth", "9", "-o", out, "--save", new)
    assert done.returncode == 0, done.stderr
    written = result(out)
    assert written["what"] == "preview" and written["ranking"]["cost"]["changed_queries"] > 0
    texts = dict(COLLECTION.documents())
    edited, plain = load(str(new)), load(str(here / "ranker"))
    for name, ranker in (("before", plain), ("after", edited)):
        rows = [row for rows in read_run(out / f"{name}.trec").values() for row in rows]
        scores = ranker.score([(COLLECTION.queries[row.qid], texts[row.docno]) for row in rows])
        np.testing.assert_allclose(scores, [row.score for row in rows], atol=1e-5)
    done_to_it = json.loads((new / "edits.json").read_text())
    assert done_to_it["fingerprint"] == plain.fingerprint() != edited.fingerprint()
    assert [one["term"] for one in done_to_it["edits"]] == ["cat", "house", "red tree"]
    moved = {turn["piece"]: turn["after"] - turn["before"] for turn in done_to_it["turns"]}
    assert set(moved) == {"cat", "house", "red", "tree"} and moved["cat"] < 0 < moved["house"]
    assert done_to_it["dial"]["s0"] == pytest.approx(
        np.linalg.svd(plain.encoder.word_embeddings.detach().numpy(), compute_uv=False)[0], rel=1e-5
    )
    assert "nDCG@10 before" in done.stdout and "warning: red tree" in done.stderr
    assert "<svg" in (out / "report.html").read_text()


def test_a_preview_needs_no_folder_and_saves_nothing(here, tmp_path):
    done = whyrank(
        "edit", "--ranker", here / "ranker", "--idf", here / "idf.tsv", "--up", "cat=40", "--preview",
        "--queries", "2", "--collection", here / "collection", cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "cat=40 is cat=40sd" in done.stderr and "leaves" not in done.stdout
    assert "warning: cat: its piece 'cat' is turned to a U0 of" in done.stderr
    assert "2 queries" in done.stdout and list(tmp_path.iterdir()) == []
    said = next(line for line in done.stderr.splitlines() if "--save FOLDER" in line)
    assert "--up cat=40sd" in said and f"--idf {here / 'idf.tsv'}" in said, "what is saved is what was shown"


def test_the_experiment(here, tmp_path):
    out = tmp_path / "run"
    how = ["--collection", here / "collection", "--scales", "1,20", "--head", "1.2", "--queries", "3", "-o", out]
    done = edit(here, "--experiment", *how)
    assert done.returncode == 0, done.stderr
    written = result(out)
    assert written["what"] == "experiment" and written["queries"] == 3 and written["head"] == "1.2"
    assert len(written["curves"]) == 24 * 2 * 2 and len(written["slopes"]) == 2
    assert (out / "report.html").read_text().count("<svg") == 3


def test_the_gate_exits_with_3_and_saves_nothing(here, tmp_path):
    how = ["--down", "cat=30", "--preview", "--collection", here / "collection", "--depth", "9"]
    done = edit(here, *how, "--max-loss", "0.005", "-o", tmp_path / "run", "--save", tmp_path / "new")
    assert done.returncode == 3, done.stderr
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("gate fails")]
    assert "judged queries, and max_loss is 0.005; nothing is saved" in line and "nDCG@10 before" in done.stdout
    assert not (tmp_path / "new").exists() and result(tmp_path / "run")["what"] == "preview"
    done = edit(here, *how, "--max-loss", "0.9", "--propose", "-o", tmp_path / "other", "--save", tmp_path / "new")
    assert done.returncode == 0 and (tmp_path / "new" / "model.safetensors").exists(), done.stderr
    assert len(result(tmp_path / "other")["proposal"]["tried"]) == 7
    assert "roposed" in done.stdout and "Which scale?" in (tmp_path / "other" / "report.html").read_text()
    assert "unknown new_token 'median'" in one_line(edit(here, *how, "--new-token", "median"))


@pytest.mark.slow
def test_what_it_refuses(here, tmp_path):
    def refused(*how):
        return one_line(edit(here, *how))

    new, collection = ["--save", tmp_path / "new"], ["--collection", here / "collection"]
    assert "the term 'zebra' is not in the ranker's vocabulary" in refused("--up", "zebra=5", *new)
    assert "'cat' is not an edit" in refused("--up", "cat", *new)
    assert "no edit; give --up" in refused(*new)
    assert "neither --preview nor --save is given; give --preview" in refused("--up", "cat=5")
    assert "a preview needs a collection" in refused("--up", "cat=5", "--preview")
    assert "needs --collection and -o" in refused("--experiment")
    assert "by itself" in refused("--experiment", "--up", "cat=5", *collection, "-o", tmp_path / "x")
    assert "no scales" in refused("--experiment", *collection, "-o", tmp_path / "x", "--scales", "-1,1")
    assert "this folder holds other files" in refused("--up", "cat=5", "--save", here / "ranker")
    unclear = whyrank("edit", "--ranker", here / "ranker", "--up", "cat=5", *new)
    assert "its sign is unknown" in one_line(unclear), "the built-in collection has few words of this vocabulary"
    assert list(tmp_path.iterdir()) == [], "nothing is left of what was refused"


@pytest.mark.parametrize("how", [["--experiment"], ["--up", "cat=4", "--preview"]])
def test_a_wrong_rule_does_not_block_the_folder(here, tmp_path, how):
    call = [
        "edit",
        "--ranker",
        here / "ranker",
        "--idf",
        here / "idf.tsv",
        "--collection",
        here / "collection",
        *how,
    ]
    assert "unknown rule 'autors'" in one_line(whyrank(*call, "--rule", "autors", "-o", tmp_path / "run"))
    done = whyrank(*call, "--scales", "1,5", "-o", tmp_path / "run")
    assert done.returncode == 0, done.stderr


def test_an_edit_too_large_is_refused(here, tmp_path):
    done = whyrank("edit", "--ranker", here / "ranker", "--idf", here / "idf.tsv", "--up", "cat=1e40", "--save",
                   tmp_path / "edited")  # fmt: skip
    assert "a scale of 1e+40" in one_line(done) and not (tmp_path / "edited").exists()
