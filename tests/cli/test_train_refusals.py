"""What `whyrank train` cannot do, from the outside: one line, exit code 2, nothing half-written."""

import pytest

from tests.cli.run import one_line, whyrank
from tests.learning.small import QUERIES, write_collection
from tests.learning.tiny_training import still_backbone


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("refused")
    still_backbone(folder)
    write_collection(folder / "collection")
    return folder


def train(place, out, *more, collection="collection", **settings):
    given = {"epochs": 1, "batch": 7, "select": "nDCG@5", **settings}
    flags = [part for name, value in given.items() for part in ("--set", f"{name}={value}")]
    where = ["--backbone", place / "backbone", "--collection", place / collection]
    how = ["--model", "bert", "--folds", "3", "--seeds", "1"]
    return whyrank("train", *how, *where, *flags, *more, "-o", out, OMP_NUM_THREADS="1")


def test_a_sequence_longer_than_the_positions(place, tmp_path):
    said = one_line(train(place, tmp_path / "run", max_length=512))
    assert "max_length is 512, and" in said and "has positions for 24 tokens; set max_length to 24 or less" in said
    assert not (tmp_path / "run").exists()


def test_an_option_is_not_a_setting(place, tmp_path):
    said = one_line(train(place, tmp_path / "run", seed=3))
    assert "seed is not a setting; see the options of 'whyrank train --help'" in said
    assert not (tmp_path / "run").exists()


def test_a_collection_without_judgements(place, tmp_path):
    write_collection(tmp_path / "bare")
    (tmp_path / "bare" / "qrels" / "test.tsv").unlink()
    assert "this collection has no judgements" in one_line(
        train(place, tmp_path / "run", collection=tmp_path / "bare")
    )
    assert not (tmp_path / "run").exists()


def test_a_fold_without_a_relevant_document(place, tmp_path):
    rows = [f"{qid} Q0 d{qid[1:]}-{j} {j} {9 - j} mine" for qid in QUERIES for j in (2, 3)]
    (tmp_path / "mine.trec").write_text("\n".join(rows) + "\n")
    said = one_line(train(place, tmp_path / "run", "--run", tmp_path / "mine.trec"))
    assert "queries of fold 1 have no relevant document among their candidates; give a first stage" in said
    assert not (tmp_path / "run").exists()


def test_a_loss_that_is_no_number_and_other_settings_after_it(place, tmp_path):
    out = tmp_path / "run"
    said = one_line(train(place, out, margin=1e39))
    assert "the rank loss is inf in epoch 1, step 1 of fold1-seed0" in said
    assert list(out.glob(".training-*/fold1-seed0/epoch-0000")), "the last good epoch is kept"
    assert not (out / "train.json").exists()
    assert "model.margin was 1e+39 and is 1.0" in one_line(train(place, out))
