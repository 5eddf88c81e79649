"""Splits mean what BEIR means by them: test judgements are neither learned from nor chosen by."""

import pytest

from tests.learning.small import FIRST, QRELS, cross_encoder, write_collection, write_splits
from tests.learning.tiny_networks import register
from tests.learning.tiny_training import QUICK, backbone
from whyrank.collections.catalogue import open_collection
from whyrank.core.errors import UserError
from whyrank.learning.finetuning.jobs import FineTuneSettings
from whyrank.learning.finetuning.tuner import FineTuner
from whyrank.learning.judgements import JudgementsUsed, PartUsed, judged
from whyrank.learning.plan import plan_training
from whyrank.learning.splits import Split


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    register(monkeypatch)


@pytest.fixture
def folder(tmp_path):
    """Eight queries to learn from, two to choose by, three to test on."""
    return write_splits(tmp_path / "set", train=range(8), dev=range(8, 10), test=range(10, 13))


def names(numbers):
    return {f"q{i}" for i in numbers}


def split_of(what, tmp_path, **how):
    """The one split of a training, and the same of a fine-tuning."""
    made = plan_training("tiny-cls", backbone(tmp_path), what, FIRST, QUICK, **how)
    ranker = cross_encoder(tmp_path / "ranker")
    settings = FineTuneSettings(conditions=(), epochs=1, depth=8, queries=how.get("queries"))
    tuned = FineTuner.of(ranker, what, FIRST, settings, tmp_path, tmp_path / "w")
    (split,) = made.splits
    assert tuned.split == split
    return split


def test_train_is_learned_from_dev_chooses_and_test_is_tested(folder, tmp_path):
    what = judged(open_collection(folder))
    split = split_of(what, tmp_path)
    assert set(split.train) == names(range(8))
    assert set(split.validation) == names(range(8, 10))
    assert set(split.test) == names(range(10, 13))
    used = JudgementsUsed.of(what, [split])
    assert [str(part) for part in used.folds[0]] == [
        "learned from: qrels/train.tsv, 8 queries, 24 judgements",
        "chosen by: qrels/dev.tsv, 2 queries, 6 judgements",
        "tested on: qrels/test.tsv, 3 queries, 9 judgements",
    ]
    assert used.how == (
        "judgements are learned from qrels/train.tsv, chosen by qrels/dev.tsv, tested on qrels/test.tsv"
    )
    assert used.folds[0][2] == PartUsed("test", "qrels/test.tsv", 3, 9)


def test_without_dev_a_part_of_train_chooses(tmp_path):
    what = judged(open_collection(write_splits(tmp_path / "set", train=range(10), test=range(10, 13))))
    split = split_of(what, tmp_path)
    assert {*split.train, *split.validation} == names(range(10)) and len(split.validation) == 2
    assert set(split.test) == names(range(10, 13))
    assert str(JudgementsUsed.of(what, [split]).folds[0][1]) == (
        "chosen by: a fifth of qrels/train.tsv, 2 queries, 6 judgements"
    )


@pytest.mark.parametrize(("learned", "tested"), [("train", "dev"), ("dev", "test")])
def test_of_two_splits_the_later_is_the_test(tmp_path, learned, tested):
    what = judged(open_collection(write_splits(tmp_path / "set", **{learned: range(10), tested: range(10, 13)})))
    split = split_of(what, tmp_path)
    assert {*split.train, *split.validation} == names(range(10)) and set(split.test) == names(range(10, 13))
    assert what.source("train") == f"qrels/{learned}.tsv" and what.source("test") == f"qrels/{tested}.tsv"


def test_a_query_that_two_splits_judge_is_only_in_the_later(tmp_path):
    what = judged(
        open_collection(write_splits(tmp_path / "set", train=range(10), dev=range(7, 11), test=range(9, 13)))
    )
    split = split_of(what, tmp_path)
    assert set(split.train) == names(range(7))
    assert set(split.validation) == names((7, 8))
    assert set(split.test) == names(range(9, 13))


def test_only_some_queries_are_learned_from_and_all_are_tested(folder, tmp_path):
    what = judged(open_collection(folder), most=5)
    assert set(what.collection.queries) == names((*range(5), *range(8, 13))), "and only these are searched for"
    split = split_of(what, tmp_path, queries=5)
    assert set(split.train) == names(range(5)) and len(split.validation) == 2 and len(split.test) == 3


def test_test_queries_of_a_file_come_out_of_any_split_and_the_rest_of_test_is_not_used(folder, tmp_path):
    (tmp_path / "ids").write_text("q10\nq8\nq0\n")
    what = judged(open_collection(folder), test_queries=tmp_path / "ids")
    split = split_of(what, tmp_path)
    assert set(split.test) == names((0, 8, 10))
    assert set(split.train) == names(range(1, 8)) and split.validation == ("q9",)
    assert not names((11, 12)) & set(what.collection.qrels), "test judgements that nobody asked for are not used"
    assert what.source("test") == f"the queries of {tmp_path / 'ids'}"


def test_folds_of_a_folder_with_splits_need_one_of_them_by_name(folder, tmp_path):
    with pytest.raises(UserError, match=r"5 folds, with test queries given.*FOLDER#train"):
        plan_training("tiny-cls", backbone(tmp_path), judged(open_collection(folder)), FIRST, QUICK, folds=5)
    what = judged(open_collection(f"{folder}#train"))
    made = plan_training("tiny-cls", backbone(tmp_path), what, FIRST, QUICK, folds=3)
    assert {qid for split in made.splits for _, qids in split for qid in qids} == names(range(8))
    assert what.source("test") == "qrels/train.tsv"


def test_a_folder_with_test_judgements_only_says_that_they_are_parted(tmp_path):
    what = judged(open_collection(write_collection(tmp_path / "set")))
    assert what.test is None
    empty = Split((), (), ())
    said = JudgementsUsed.of(what, [empty] * 5).how
    assert "set has only test judgements (qrels/test.tsv), split by query into 5 folds" in said
    assert "measure it by the test queries of its fold only" in said
    assert (
        "split by query: 60% to learn from, 20% to choose by, 20% to test on"
        in JudgementsUsed.of(what, [empty]).how
    )


def test_training_judgements_of_a_folder_are_its_train_split(folder):
    what = judged(open_collection(f"{folder}#test"), str(folder))
    learned = set(what.collection.qrels) - set(what.test)
    assert learned == names(range(8)) and set(what.test) == names(range(10, 13))
    assert what.source("train") == f"{folder} (qrels/train.tsv)" and what.source("test") == "qrels/test.tsv"


def test_an_empty_part_is_refused(folder, tmp_path):
    (folder / "qrels" / "dev.tsv").write_text("query-id\tcorpus-id\tscore\nq10\td10-0\t1\n")
    what = judged(open_collection(folder))
    with pytest.raises(UserError, match="no judged query in the part to choose by"):
        plan_training("tiny-cls", backbone(tmp_path), what, FIRST, QUICK)


def test_the_splits_of_a_folder_that_is_not_beirs(tmp_path):
    write_collection(tmp_path / "beir")
    (tmp_path / "set").mkdir()
    (tmp_path / "beir" / "corpus.jsonl").rename(tmp_path / "set" / "docs.jsonl")
    queries = (tmp_path / "beir" / "queries.jsonl").read_text().splitlines()
    for split, numbers in (("train", range(10)), ("test", range(10, 13))):
        rows = [f"q{i} 0 {docno} {grade}" for i in numbers for docno, grade in QRELS[f"q{i}"].items()]
        (tmp_path / "set" / f"qrels.{split}.txt").write_text("\n".join(rows))
        (tmp_path / "set" / f"queries.{split}.jsonl").write_text("\n".join(queries[i] for i in numbers))
    opened = open_collection(tmp_path / "set")
    assert opened.judgements == "qrels.test.txt (3 queries, 9 judgements)"
    assert set(opened.queries) == names(range(10, 13))
    assert set(open_collection(f"{tmp_path / 'set'}#train").queries) == names(range(10))
    what = judged(opened)
    assert set(what.test) == names(range(10, 13)) and what.source("train") == "qrels.train.txt"
    assert set(what.collection.queries) == names(range(13))
