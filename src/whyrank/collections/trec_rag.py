"""TREC RAG 2024's re-rank set: 301 topics with 20 MS MARCO v2.1 segments each, 6,011 in all, with their texts.

Two judges, two names: `trec-rag-2024` has NIST's grades 0 to 3 (86 of the topics, 20,283 judgements),
`trec-rag-2024/umbrela` those of the LLM judge UMBRELA (all 301 topics, 108,479 judgements). Both judged a
larger pool than the 6,011 segments, so a measure's ideal ranking may hold segments that no ranking here can
reach. The first stage is the order in which the 20 passages of a topic are given.

The passages stand under MS MARCO's terms of use (non-commercial research). whyrank does not redistribute
them: each user fetches them from the Python index, in the source archive of ir_axioms 1.2.5, which is read
as data: nothing of it is built, installed or run.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from whyrank.collections import beir, trec
from whyrank.collections.collection import Collection
from whyrank.collections.formats import read_qrels
from whyrank.collections.records import Qrels, Retrieved, Run
from whyrank.core.archives import read_member
from whyrank.core.cache import cache_folder
from whyrank.core.cached import CachedFolder
from whyrank.core.lines import read_json_lines
from whyrank.core.packages import Package

PACKAGE = Package(
    "ir_axioms", "1.2.5", "cbb90f78a9de4260619ca6e67c0204e56e0a0155e0d77e80856a2fe4a1af15a5", sdist=True
)
#: The files of the package that hold the passages and each judge's grades.
PASSAGES = "ir_axioms-1.2.5/data/crowd/study1_retrieval.jsonl.gz"
JUDGES = {
    "nist": "ir_axioms-1.2.5/data/2024-retrieval-qrels.txt",
    "umbrela": "ir_axioms-1.2.5/data/qrels.rag24.test-umbrela-all.txt",
}
#: The tag of the first stage's lines.
TAG = "given"


def cached() -> CachedFolder:
    """The collection's folder in BEIR's layout: where it is, or would be; 29 MB to fetch."""
    return CachedFolder("trec-rag-2024", cache_folder("collections", "trec-rag-2024"), _make)


def open_judged_by(judge: str) -> Collection:
    """The collection with the grades of `nist` or `umbrela`, all its 301 queries in either case."""
    name = "trec-rag-2024" if judge == "nist" else f"trec-rag-2024/{judge}"
    return beir.open_folder(cached().use(), judge, name, all_queries=True)


def _make(folder: Path) -> None:
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        package = PACKAGE.fetch(Path(scratch))
        for member in (PASSAGES, *JUDGES.values()):
            Path(scratch, Path(member).name).write_bytes(read_member(package, member))
        topics = [row for _, row in read_json_lines(Path(scratch, Path(PASSAGES).name))]
        _write_topics(folder, topics)
        own = {topic["topic"] for topic in topics}
        for judge, member in JUDGES.items():
            _write_judgements(folder / "qrels" / f"{judge}.tsv", read_qrels(Path(scratch, Path(member).name)), own)


def _write_topics(folder: Path, topics: list[dict[str, Any]]) -> None:
    texts: dict[str, str] = {}
    for topic in topics:
        for docno, text in zip(topic["references_ids"], topic["references_texts"], strict=True):
            assert texts.setdefault(docno, text) == text, f"segment {docno} has two texts"
    _write_json_lines(folder / "corpus.jsonl", ({"_id": docno, "text": text} for docno, text in texts.items()))
    _write_json_lines(folder / "queries.jsonl", ({"_id": t["topic"], "text": t["query"]} for t in topics))
    trec.write_run(folder / "run.trec", _given_order(topics))


def _given_order(topics: list[dict[str, Any]]) -> Run:
    """The order of the passages as a run; there are no scores, so the first of n has n and the last 1."""
    return {
        topic["topic"]: [
            Retrieved(topic["topic"], docno, rank, float(len(topic["references_ids"]) + 1 - rank), TAG)
            for rank, docno in enumerate(topic["references_ids"], start=1)
        ]
        for topic in topics
    }


def _write_json_lines(path: Path, rows: Iterator[dict[str, str]]) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _write_judgements(path: Path, qrels: Qrels, own: set[str]) -> None:
    path.parent.mkdir(exist_ok=True)
    rows = ((qid, docno, grade) for qid in qrels if qid in own for docno, grade in qrels[qid].items())
    lines = (f"{qid}\t{docno}\t{grade}\n" for qid, docno, grade in rows)
    with path.open("w", encoding="utf-8") as file:
        file.writelines(["query-id\tcorpus-id\tscore\n", *lines])
