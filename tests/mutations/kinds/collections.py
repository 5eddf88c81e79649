"""Collections in every format, runs and judgements: read by `rank` with BM25 and by `eval`."""

from __future__ import annotations

import gzip
from pathlib import Path

from tests.edits.dialed import write_collection
from tests.mutations.kind import Kind
from tests.mutations.kinds.small import (
    write_first_stage,
    write_json_lines,
    write_tevatron,
    write_trec,
    write_tsv,
    judgements,
)

RANK = ("rank", "--ranker", "bm25", "-k", "3", "-o", "out", "--collection")


def _packed(folder: Path) -> None:
    for path in sorted(write_tsv(folder / "packed").iterdir()):
        path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes(), mtime=0))
        path.unlink()


def _run_and_judgements(folder: Path) -> None:
    write_first_stage(folder / "run.trec")
    write_first_stage(folder / "other.trec")
    (folder / "qrels.txt").write_text("\n".join(judgements()) + "\n", encoding="utf-8")


def _with_run(folder: Path) -> None:
    write_tsv(folder / "tsv")
    write_first_stage(folder / "first.trec")


KINDS = [
    Kind("BEIR", lambda f: write_collection(f / "beir") and None, ["beir/*.jsonl", "beir/qrels/*"], [*RANK, "beir"], 40),
    Kind("TREC", lambda f: write_trec(f / "trec") and None, ["trec/*"], [*RANK, "trec"], 40),
    Kind("TSV", lambda f: write_tsv(f / "tsv") and None, ["tsv/*"], [*RANK, "tsv"], 40),
    Kind("JSON lines", lambda f: write_json_lines(f / "lines") and None, ["lines/*"], [*RANK, "lines"], 40),
    Kind("Tevatron", lambda f: write_tevatron(f / "tevatron.jsonl") and None, ["*.jsonl"], [*RANK, "tevatron.jsonl"], 40),
    Kind("gzip", _packed, ["packed/*"], [*RANK, "packed"], 30),
    Kind(
        "first stage", _with_run, ["first.trec"],
        ["rank", "--ranker", "bm25", "--collection", "tsv", "--run", "first.trec", "-o", "out"], 30,
    ),
    Kind(
        "runs and judgements", _run_and_judgements, ["*.trec", "qrels.txt"],
        ["eval", "run.trec", "other.trec", "--qrels", "qrels.txt", "-o", "out"], 40,
    ),
]  # fmt: skip
