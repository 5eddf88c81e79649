"""`whyrank align` from the outside."""

import json

import jsonschema
import numpy as np
import pytest

from tests.cli.run import one_line, whyrank
from tests.edits.dialed import COLLECTION, cross_encoder, dialed, idf_file, write_collection
from whyrank.collections.formats import read_run
from whyrank.edits.align import alignment
from whyrank.edits.results import Alignment
from whyrank.edits.rows import applied
from whyrank.rankers.load import load


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    folder = tmp_path_factory.mktemp("align")
    idf_file(cross_encoder(folder / "ranker"), folder / "idf.tsv")
    write_collection(folder / "collection")
    return folder


def align(here, *how):
    where = ["--ranker", here / "ranker", "--idf", here / "idf.tsv", "--collection", here / "collection"]
    return whyrank("align", *where, *how)


def test_what_is_saved_scores_as_was_previewed(here, tmp_path):
    out, new = tmp_path / "run", tmp_path / "new"
    done = align(here, "--preview", "-o", out, "--save", new)
    assert done.returncode == 0, done.stderr
    written = json.loads((out / "edit.json").read_text())
    jsonschema.validate(written, Alignment.schema())
    assert written["alignment"]["r_after"] == pytest.approx(-1) and "-1.0000 after" in done.stdout
    assert written["ranking"]["rescored"] == written["ranking"]["pairs"] == len(read_pairs(out))
    ranker, texts = load(str(here / "ranker")), dict(COLLECTION.documents())
    rows = read_pairs(out)
    pairs = [(COLLECTION.queries[row.qid], texts[row.docno]) for row in rows]
    np.testing.assert_allclose(load(str(new)).score(pairs), [row.score for row in rows], atol=1e-5)
    with applied(ranker, alignment(dialed(ranker))):
        np.testing.assert_allclose(ranker.score(pairs), [row.score for row in rows], atol=1e-5)
    assert json.loads((new / "edits.json").read_text())["alignment"] == written["alignment"]


def read_pairs(out):
    return [row for rows in read_run(out / "after.trec").values() for row in rows]


def test_what_it_refuses(here, tmp_path):
    assert "neither --preview nor --save is given; give --save FOLDER, or --preview" in one_line(align(here))
    assert "choose bm25 or plain" in one_line(align(here, "--save", tmp_path / "new", "--formula", "mine"))
    assert "this folder holds other files" in one_line(align(here, "--save", here / "ranker"))
    assert list(tmp_path.iterdir()) == []
