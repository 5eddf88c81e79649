"""Pairs files, synonyms, block lists, IDF, and settings of a training: TOML, query ids, judgements, vectors."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from tests.checkpoints import WORDS, save
from tests.edits.dialed import cross_encoder, idf_file
from tests.learning.small import checkpoint, write_collection
from tests.mutations.kind import Kind
from tests.mutations.kinds.small import done, write_first_stage, write_tsv

#: A training that is kept from its work, when all its settings are right, by a folder of somebody else's.
BLOCKED = "this folder holds other files"
TOML = """\
model = "dgre"
backbone = "backbone"
collection = "beir"
folds = 3
seeds = 1
seed = 3
depth = 20
queries = 12
keep_models = "none"
epochs = 1
batch = 8
rate = 5e-5
warm-up = 0.1
patience = 2
select = "nDCG@5"
measures = ["nDCG@10", "P@5"]
max_length = 24
information = "none"
decomposition = true
"""
TRAIN = (
    "train",
    "--backbone",
    "backbone",
    "--collection",
    "beir",
    "--depth",
    "20",
    "--set",
    "epochs=1",
    "-o",
    "full",
)


def pairs_file(folder: Path) -> None:
    """Ours, of two axioms, and one that a user may have written."""
    checkpoint(folder / "ranker")
    write_collection(folder / "beir")
    what = ["--collection", "beir", "--ranker", "ranker", "--documents", "3", "--no-wordnet"]
    done(folder, "pairs", "--axiom", "TFC1:append,TDC", *what, "-o", "pairs.jsonl")
    done(folder, "pairs", "--axiom", "TFC1:append", *what, "-o", "tfc1.jsonl")
    (folder / "pairs.dropped.json").unlink(missing_ok=True)
    (folder / "tfc1.dropped.json").unlink(missing_ok=True)
    own = [
        {
            "id": f"p{i}",
            "query": f"how many {word}",
            "baseline": f"the {word} sat",
            "perturbed": f"the {word} runs",
        }
        for i, word in enumerate(WORDS[2:6])
    ]
    (folder / "own.jsonl").write_text("".join(json.dumps(row) + "\n" for row in own), encoding="utf-8")


def _synonyms(folder: Path) -> None:
    checkpoint(folder / "ranker")
    write_collection(folder / "beir")
    lines = ["cat\tdog, tree", "dog\tcat", "tree\thouse", "house\ttree, berlin", "red\tblue", "fast\tslow"]
    (folder / "synonyms.tsv").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _block_list(folder: Path) -> None:
    idf_file(cross_encoder(folder / "ranker"), folder / "idf.tsv")
    write_tsv(folder / "tsv", judged=False)
    write_first_stage(folder / "first.trec", queries=3)
    (folder / "list.txt").write_text("# words\nberlin\nblue\nslow\ntwo words\nzebra\n", encoding="utf-8")


def _training(folder: Path) -> None:
    save(folder / "backbone")
    write_collection(folder / "beir")
    (folder / "train.toml").write_text(TOML, encoding="utf-8")
    (folder / "test.txt").write_text("q3\nq5\nq7\n", encoding="utf-8")
    shutil.copytree(folder / "beir", folder / "half")
    tests = [f"q{i}\td{i}-{j}\t{2 - j}" for i in range(10, 13) for j in range(3)]
    (folder / "half" / "qrels" / "test.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *tests]) + "\n")
    lines = [f"q{i} 0 d{i}-{j} {2 - j}" for i in range(10) for j in range(3)]
    (folder / "learn.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    vectors = [f"{word} {i / 10} {1 - i / 10} 0.5" for i, word in enumerate(WORDS)]
    (folder / "vectors.txt").write_text("\n".join(vectors) + "\n", encoding="utf-8")
    (folder / "full").mkdir()
    (folder / "full" / "notes.txt").write_text("somebody else's", encoding="utf-8")


AUDIT = ("audit", "--ranker", "ranker", "--collection", "beir", "--no-wordnet", "-o", "out", "--pairs")
PATCH = ("patch", "--ranker", "ranker", "--sites", "1.1,1.2", "-o", "out", "--pairs")
KINDS = [
    Kind("pairs, audited", pairs_file, ["pairs.jsonl"], [*AUDIT, "pairs.jsonl"], 50),
    Kind("pairs, patched", pairs_file, ["tfc1.jsonl"], [*PATCH, "tfc1.jsonl"], 50),
    Kind("a user's pairs", pairs_file, ["own.jsonl"], [*PATCH, "own.jsonl"], 30),
    Kind(
        "reference pairs", pairs_file, ["own.jsonl"],
        [*PATCH, "tfc1.jsonl", "--method", "ablation", "--ablate", "mean", "--reference", "own.jsonl"], 20,
    ),
    Kind(
        "synonyms", _synonyms, ["synonyms.tsv"],
        ["pairs", "--axiom", "STMC1", "--collection", "beir", "--ranker", "ranker", "--documents", "3",
         "--no-wordnet", "--synonyms", "synonyms.tsv", "-o", "out/pairs.jsonl"], 20,
    ),
    Kind(
        "block list", _block_list, ["list.txt"],
        ["suppress", "--ranker", "ranker", "--idf", "idf.tsv", "--collection", "tsv", "--run", "first.trec",
         "--terms", "list.txt", "--scales", "1,10,100", "--documents", "2", "-o", "out"], 12,
    ),
    Kind(
        "TOML", _training, ["train.toml"],
        ["train", "--config", "train.toml", "-o", "full"], 60, "full", BLOCKED, ("beir", "backbone"),
    ),
    Kind(
        "ids of test queries", _training, ["test.txt"],
        [*TRAIN, "--model", "bert", "--test-queries", "test.txt"], 15, "full", BLOCKED,
    ),
    Kind(
        "judgements to learn from", _training, ["learn.txt"],
        [*TRAIN, "--model", "bert", "--collection", "half", "--train-qrels", "learn.txt"], 15, "full", BLOCKED,
    ),
    Kind(
        "word vectors", _training, ["vectors.txt"],
        [*TRAIN, "--model", "drmm", "--set", "vectors=vectors.txt"], 15, "full", BLOCKED,
    ),
]  # fmt: skip
