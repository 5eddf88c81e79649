"""What each command does with a folder that has train, dev and test judgements, and what it says of it."""

import json

import pytest

from tests.cli import hostile
from tests.learning.small import QRELS, checkpoint, write_collection, write_splits
from tests.pages.inert import text_of
from whyrank.axioms.pair import read_pairs
from whyrank.cli.app import app
from whyrank.core.errors import UserError

FINETUNE = ["--seeds", "1", "--epochs", "1", "--rate", "3e-3", "--batch", "8", "--depth", "8", "--max-length",
            "24", "--conditions", "full"]  # fmt: skip
TRAIN = ["--model", "bert", "--seeds", "1", "--depth", "20", "--set", "epochs=1", "--set", "max_length=24"]
ORDER = ("train", "validation", "test")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("splits")
    checkpoint(folder / "ranker")
    write_splits(folder / "set", train=range(8), dev=range(8, 10), test=range(10, 13))
    write_collection(folder / "tests-only")
    return folder


def names(numbers):
    return [f"q{i}" for i in numbers]


def call(*words):
    """The command in this process: starting another takes longer than most of these commands."""
    app(list(map(str, words)), prog_name="whyrank", standalone_mode=False)


def run(place, command, collection, out, capfd):
    how = (
        ["--ranker", place / "ranker", *FINETUNE]
        if command == "finetune"
        else ["--backbone", place / "ranker", *TRAIN]
    )
    call(command, *how, "--collection", place / collection, "-o", place / out)
    written = json.loads((place / out / f"{command}.json").read_text())
    return capfd.readouterr().err, written, json.loads((place / out / "manifest.json").read_text())


@pytest.mark.parametrize("command", ["finetune", "train"])
def test_training_learns_from_train_chooses_by_dev_and_tests_on_test(place, command, capfd):
    printed, written, manifest = run(place, command, "set", command, capfd)
    split = written["split"] if command == "finetune" else written["folds"][0]
    assert [sorted(split[part], key=lambda qid: int(qid[1:])) for part in ORDER] == [
        names(range(8)), names(range(8, 10)), names(range(10, 13))
    ]  # fmt: skip
    for said in (
        "learned from: qrels/train.tsv, 8 queries, 24 judgements",
        "chosen by: qrels/dev.tsv, 2 queries, 6 judgements",
        "tested on: qrels/test.tsv, 3 queries, 9 judgements",
    ):
        assert said in printed
    used = manifest["judgements"]["folds"][0]
    assert [(one["part"], one["source"], one["queries"]) for one in used] == [
        ("train", "qrels/train.tsv", 8), ("validation", "qrels/dev.tsv", 2), ("test", "qrels/test.tsv", 3)
    ]  # fmt: skip
    page = text_of((place / command / "report.html").read_text())
    assert "Learned from qrels/train.tsv: 8 queries, 24 judgements" in page


@pytest.mark.parametrize("command", ["finetune", "train"])
def test_other_test_judgements_give_the_same_model(place, command, capfd):
    """Bit for bit: nothing of them reaches the weights, nor the choice of the epoch."""
    if not (place / command).exists():
        run(place, command, "set", command, capfd)
    write_splits(place / f"other-{command}", train=range(8), dev=range(8, 10), test=range(10, 13))
    rows = [f"q{i}\t{docno}\t{2 - grade}" for i in range(10, 13) for docno, grade in QRELS[f"q{i}"].items()]
    (place / f"other-{command}" / "qrels" / "test.tsv").write_text(
        "\n".join(["query-id\tcorpus-id\tscore", *rows]) + "\n"
    )
    run(place, command, f"other-{command}", f"{command}-again", capfd)
    models = [sorted((place / out / "models").rglob("*.safetensors")) for out in (command, f"{command}-again")]
    assert models[0] and [one.read_bytes() for one in models[0]] == [other.read_bytes() for other in models[1]]


@pytest.mark.parametrize("command", ["finetune", "train"])
def test_test_judgements_alone_are_parted_and_that_is_said(place, command, capfd):
    printed, _, manifest = run(place, command, "tests-only", f"{command}-alone", capfd)
    assert "tests-only has only test judgements (qrels/test.tsv), " in printed
    assert "has only test judgements" in manifest["judgements"]["how"]


def test_folds_of_a_folder_with_splits_are_refused(place):
    with pytest.raises(UserError, match="5 folds, with test queries given; leave folds out"):
        call("train", "--backbone", place / "ranker", *TRAIN, "--folds", 5, "--collection", place / "set", "-o",
             place / "folds")  # fmt: skip


def test_rank_and_eval_take_test_and_say_so(place, capfd):
    call("rank", "--ranker", "bm25", "--collection", place / "set", "-o", place / "run")
    printed = capfd.readouterr().err
    assert "queries: 3, of the split test or not judged" in printed and "set#train" in printed
    assert json.loads((place / "run" / "manifest.json").read_text())["split"] == "test"
    ranked = {line.split()[0] for line in (place / "run" / "run.trec").read_text().splitlines()}
    assert ranked == {"q10", "q11", "q12"}
    call("eval", place / "run", "--qrels", place / "set", "-o", place / "eval")
    source = f"qrels/test.tsv of {place / 'set'}"
    assert f"judgements: {source}, 3 queries, 9 judgements" in capfd.readouterr().err
    written = json.loads((place / "eval" / "manifest.json").read_text())["judgements"]
    assert written == {"source": source, "queries": 3, "judgements": 9}
    with pytest.raises(UserError):
        call("eval", place / "run", "--qrels", f"{place / 'set'}#train")
    assert "judgements: qrels/train.tsv" in capfd.readouterr().err


READS = ["--ranker", "ranker", "--collection", "set"]
HOW = {
    "rank": ["rank", *READS],
    "audit": ["audit", *READS, "--documents", "2", "--axiom", "TFC1"],
    "semantic-bm": ["semantic-bm", *READS, "--heads", "0.3,1.1"],
    "edit": ["edit", *READS, "--up", "red=5", "--preview"],
    "edit, experiment": ["edit", *READS, "--experiment"],
    "suppress": ["suppress", *READS, "--terms", "list.txt", "--documents", "3", "--scales", "1,10,100"],
    "align": ["align", *READS, "--preview"],
}


@pytest.fixture(scope="module")
def parted(tmp_path_factory):
    """A ranker whose dial is known, and a collection with two train and twelve test queries."""
    folder = tmp_path_factory.mktemp("parted")
    hostile.ranker(folder / "ranker")
    qrels = hostile.collection(folder / "set") / "qrels"
    (folder / "list.txt").write_text("red\nblue\n")
    head, *rows = (qrels / "test.tsv").read_text().splitlines()
    for name, some in (("train", rows[:6]), ("test", rows[6:])):
        (qrels / f"{name}.tsv").write_text("\n".join([head, *some]) + "\n")
    return folder


@pytest.mark.parametrize("name", HOW)
def test_every_command_says_and_records_whose_queries_it_took(parted, monkeypatch, capfd, name):
    monkeypatch.chdir(parted)
    call(*HOW[name], "-o", name)
    assert "queries: 12, of the split test or not judged; others: set#train" in capfd.readouterr().err
    manifest = json.loads((parted / name / "manifest.json").read_text())
    assert (manifest if name == "rank" else manifest["inputs"])["split"] == "test"
    if name in ("edit", "suppress", "align", "semantic-bm"):
        assert manifest["inputs"]["judgements"] == "qrels/test.tsv (12 queries, 36 judgements)"


def test_pairs_are_made_of_test_queries_unless_others_are_named(parted, monkeypatch, capfd):
    monkeypatch.chdir(parted)
    for name, split in (("set", "test"), ("set#train", "train")):
        call("pairs", "--axiom", "TFC1", "--collection", name, "--documents", "40", "-o", f"{split}.jsonl")
        assert f"of the split {split}" in capfd.readouterr().err
        assert json.loads((parted / f"{split}.dropped.json").read_text())["split"] == split
    judged = {split: {pair.qid for pair in read_pairs(parted / f"{split}.jsonl")} for split in ("train", "test")}
    assert len(judged["train"]) == 2 and not judged["train"] & judged["test"]
