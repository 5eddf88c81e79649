"""What each command does with a folder that has train, dev and test judgements, and what it says of it."""

import json

import pytest

from tests.cli.run import one_line, whyrank
from tests.learning.small import QRELS, checkpoint, write_collection, write_splits

FINETUNE = ["--seeds", "1", "--epochs", "1", "--rate", "3e-3", "--batch", "8", "-k", "8", "--max-length", "24",
            "--conditions", "full"]  # fmt: skip
TRAIN = ["--model", "bert", "--seeds", "1", "-k", "20", "--set", "epochs=1", "--set", "max_length=24"]
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


def run(place, command, collection, out, *more):
    how = (
        ["--ranker", place / "ranker", *FINETUNE]
        if command == "finetune"
        else ["--backbone", place / "ranker", *TRAIN]
    )
    done = whyrank(
        command, *how, "--collection", place / collection, "-o", place / out, *more, OMP_NUM_THREADS="1"
    )
    assert done.returncode == 0, done.stderr
    told = json.loads((place / out / f"{command}.json").read_text())
    return done, told, json.loads((place / out / "manifest.json").read_text())


@pytest.mark.parametrize("command", ["finetune", "train"])
def test_training_learns_from_train_chooses_by_dev_and_tests_on_test(place, command):
    done, told, manifest = run(place, command, "set", command)
    split = told["split"] if command == "finetune" else told["folds"][0]
    assert [sorted(split[part], key=lambda qid: int(qid[1:])) for part in ORDER] == [
        names(range(8)), names(range(8, 10)), names(range(10, 13))
    ]  # fmt: skip
    for said in (
        "learned from: qrels/train.tsv, 8 queries, 24 judgements",
        "chosen by: qrels/dev.tsv, 2 queries, 6 judgements",
        "tested on: qrels/test.tsv, 3 queries, 9 judgements",
    ):
        assert said in done.stderr
    used = manifest["judgements"]["folds"][0]
    assert [(one["part"], one["source"], one["queries"]) for one in used] == [
        ("train", "qrels/train.tsv", 8), ("validation", "qrels/dev.tsv", 2), ("test", "qrels/test.tsv", 3)
    ]  # fmt: skip
    page = (place / command / "report.html").read_text()
    assert "Learned from qrels/train.tsv: 8 queries, 24 judgements" in page


@pytest.mark.parametrize("command", ["finetune", "train"])
def test_other_test_judgements_give_the_same_model(place, command):
    """Bit for bit: nothing of them reaches the weights, nor the choice of the epoch."""
    if not (place / command).exists():
        run(place, command, "set", command)
    write_splits(place / f"other-{command}", train=range(8), dev=range(8, 10), test=range(10, 13))
    rows = [f"q{i}\t{docno}\t{2 - grade}" for i in range(10, 13) for docno, grade in QRELS[f"q{i}"].items()]
    (place / f"other-{command}" / "qrels" / "test.tsv").write_text(
        "\n".join(["query-id\tcorpus-id\tscore", *rows]) + "\n"
    )
    run(place, command, f"other-{command}", f"{command}-again")
    models = [sorted((place / out / "models").rglob("*.safetensors")) for out in (command, f"{command}-again")]
    assert models[0] and [one.read_bytes() for one in models[0]] == [other.read_bytes() for other in models[1]]


@pytest.mark.parametrize("command", ["finetune", "train"])
def test_test_judgements_alone_are_parted_and_that_is_said(place, command):
    done, _, manifest = run(place, command, "tests-only", f"{command}-alone")
    assert "tests-only has only test judgements (qrels/test.tsv), " in done.stderr
    assert "has only test judgements" in manifest["judgements"]["how"]


def test_folds_of_a_folder_with_splits_are_refused(place):
    done = whyrank("train", "--backbone", place / "ranker", *TRAIN, "--folds", 5, "--collection", place / "set",
                   "-o", place / "folds")  # fmt: skip
    assert "5 folds, with test queries given; leave --folds out" in one_line(done)


def test_rank_and_eval_take_test_and_say_so(place):
    done = whyrank("rank", "--ranker", "bm25", "--collection", place / "set", "-o", place / "run")
    assert done.returncode == 0, done.stderr
    assert "queries: 3, of the split test or not judged" in done.stderr and "set#train" in done.stderr
    assert json.loads((place / "run" / "manifest.json").read_text())["split"] == "test"
    ranked = {line.split()[0] for line in (place / "run" / "run.trec").read_text().splitlines()}
    assert ranked == {"q10", "q11", "q12"}
    for qrels, source, queries in (("set", "qrels/test.tsv", 3), ("set#train", "qrels/train.tsv", 8)):
        out = place / f"eval-{queries}"
        done = whyrank("eval", place / "run", "--qrels", f"{place / qrels}", "-o", out)
        if queries == 3:
            assert done.returncode == 0, done.stderr
            assert f"judgements: {source} of {place / qrels}, 3 queries, 9 judgements" in done.stderr
            told = json.loads((out / "manifest.json").read_text())["judgements"]
            assert told == {"source": f"{source} of {place / qrels}", "queries": 3, "judgements": 9}
        else:
            assert f"judgements: {source}" in done.stderr
