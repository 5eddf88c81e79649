"""What most kinds of input share: a small collection in the words of the tiny checkpoints, and a first stage."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from unittest import mock

from tests.edits.dialed import COLLECTION
from tests.mutations.in_process import run
from whyrank.collections.records import Retrieved
from whyrank.collections.trec import write_run

DOCUMENTS = dict(COLLECTION.documents())
#: Documents per query in the first stage.
DEPTH = 3


def write_tsv(folder: Path, *, judged: bool = True) -> Path:
    """The collection as plain files: documents.tsv, queries.tsv, qrels.txt."""
    folder.mkdir()
    _write(folder / "documents.tsv", [f"{docno}\t{text}" for docno, text in DOCUMENTS.items()])
    _write(folder / "queries.tsv", [f"{qid}\t{text}" for qid, text in COLLECTION.queries.items()])
    if judged:
        _write(folder / "qrels.txt", judgements())
    return folder


def write_json_lines(folder: Path) -> Path:
    """As JSON lines."""
    folder.mkdir()
    _write(folder / "documents.jsonl", [json.dumps({"id": d, "contents": t}) for d, t in DOCUMENTS.items()])
    _write(folder / "queries.jsonl", [json.dumps({"id": q, "text": t}) for q, t in COLLECTION.queries.items()])
    return folder


def write_trec(folder: Path) -> Path:
    """As TREC mark-up."""
    folder.mkdir()
    documents = [f"<DOC>\n<DOCNO>{d}</DOCNO>\n<TEXT>{t}</TEXT>\n</DOC>" for d, t in DOCUMENTS.items()]
    topics = [f"<top>\n<num> Number: {qid}\n<title> {text}\n</top>" for qid, text in COLLECTION.queries.items()]
    _write(folder / "documents.trec", documents)
    _write(folder / "topics.txt", topics)
    _write(folder / "qrels.txt", judgements())
    return folder


def write_tevatron(path: Path) -> Path:
    """As a Tevatron training file."""
    rows = []
    for qid, grades in COLLECTION.qrels.items():
        some = [{"docid": docno, "title": "", "text": DOCUMENTS[docno]} for docno in grades]
        others = [{"docid": d, "title": "", "text": t} for d, t in DOCUMENTS.items() if d not in grades]
        row = {"query_id": qid, "query": COLLECTION.queries[qid], "positive_passages": some}
        rows.append(json.dumps({**row, "negative_passages": others[:2]}))
    _write(path, rows)
    return path


def judgements() -> list[str]:
    return [f"{qid} 0 {docno} {grade}" for qid, own in COLLECTION.qrels.items() for docno, grade in own.items()]


def write_first_stage(path: Path, queries: int | None = None) -> Path:
    """A run of a few documents per query."""
    names = list(DOCUMENTS)
    run = {}
    for number, qid in enumerate(list(COLLECTION.queries)[:queries]):
        chosen = [names[(number * 2 + i) % len(names)] for i in range(DEPTH)]
        run[qid] = [Retrieved(qid, docno, i, -float(i), "few") for i, docno in enumerate(chosen, start=1)]
    write_run(path, run)
    return path


def _write(path: Path, lines: list[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def done(folder: Path, *arguments: str) -> None:
    """Runs a command that must succeed, to make an input."""
    ended = run(list(arguments), folder)
    assert ended.code == 0, f"{arguments}: {ended.traceback or ended.stderr}"


def killed(folder: Path, place: str, *arguments: str) -> None:
    """Runs a command that is stopped where it calls the function `place`."""
    with mock.patch(place, side_effect=KeyboardInterrupt):
        ended = run(list(arguments), folder)
    assert ended.code == 128 + signal.SIGINT, f"{arguments}: {ended.traceback or ended.stderr}"
