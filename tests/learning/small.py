"""A made-up collection and a tiny random cross-encoder, so small that a training takes a moment."""

from __future__ import annotations

import json
from pathlib import Path

import transformers

from tests.checkpoints import save
from tests.tiny import CONFIGS, shaken
from whyrank.collections.bm25 import first_stage
from whyrank.collections.collection import Collection
from whyrank.rankers.load import load

TOPICS = ["cat", "dog", "sat", "mat", "berlin", "people", "live", "tree", "house", "runs", "fast", "red", "blue"]


def _word(place):
    return TOPICS[place % len(TOPICS)]


#: Four documents a topic; the first two are relevant to it, the first more so.
DOCUMENTS = {
    f"d{i}-{j}": f"{_word(i)} {_word(i + j + 1)} the {_word(i + 2 * j + 3)}"
    for i in range(len(TOPICS))
    for j in range(4)
}
QUERIES = {f"q{i}": f"how many {topic}" for i, topic in enumerate(TOPICS)}
QRELS = {f"q{i}": {f"d{i}-0": 2, f"d{i}-1": 1, f"d{i}-2": 0} for i in range(len(TOPICS))}
COLLECTION = Collection.from_records("small", DOCUMENTS, QUERIES, QRELS)
FIRST = first_stage(COLLECTION, 20)


def checkpoint(folder: Path, architecture: str = "bert", labels: int = 1, **config) -> Path:
    """A tiny cross-encoder on disk."""
    known = {key: value for key, value in CONFIGS[architecture].to_dict().items() if "label" not in key}
    settings = {**known, "num_labels": labels, **config}
    model = transformers.AutoModelForSequenceClassification.from_config(type(CONFIGS[architecture])(**settings))
    return save(folder, architecture, model=shaken(model.eval()))


def cross_encoder(folder: Path, architecture: str = "bert", labels: int = 1, **config):
    return load(str(checkpoint(folder, architecture, labels, **config)))


def write_collection(folder: Path, queries: int = len(QUERIES)) -> Path:
    """The collection as a BEIR folder, with the first so many queries."""
    some = list(QUERIES.items())[:queries]
    (folder / "qrels").mkdir(parents=True)
    _lines(folder / "corpus.jsonl", [{"_id": docno, "text": text} for docno, text in DOCUMENTS.items()])
    _lines(folder / "queries.jsonl", [{"_id": qid, "text": text} for qid, text in some])
    rows = [f"{qid}\t{docno}\t{grade}" for qid, _ in some for docno, grade in QRELS[qid].items()]
    (folder / "qrels" / "test.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *rows]) + "\n")
    return folder


def write_splits(folder: Path, **splits: range) -> Path:
    """The collection as a BEIR folder whose splits judge these queries, by number."""
    write_collection(folder)
    (folder / "qrels" / "test.tsv").unlink()
    for split, numbers in splits.items():
        rows = [f"q{i}\t{docno}\t{grade}" for i in numbers for docno, grade in QRELS[f"q{i}"].items()]
        (folder / "qrels" / f"{split}.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *rows]) + "\n")
    return folder


def _lines(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
