"""Collections in every format, runs and judgements: read by `rank` with BM25 and by `eval`."""

from __future__ import annotations

import gzip
from pathlib import Path

from tests.edits.dialed import write_collection
from tests.mutations.kind import Kind
from tests.mutations.kinds.small import (
    judgements,
    write_first_stage,
    write_json_lines,
    write_tevatron,
    write_trec,
    write_tsv,
)

RANK = ("rank", "--ranker", "bm25", "--depth", "3", "-o", "out", "--collection")


def _beir(folder: Path) -> None:
    write_collection(folder / "beir")


def _trec(folder: Path) -> None:
    write_trec(folder / "trec")


def _tsv(folder: Path) -> None:
    write_tsv(folder / "tsv")


def _json_lines(folder: Path) -> None:
    write_json_lines(folder / "lines")


def _tevatron(folder: Path) -> None:
    write_tevatron(folder / "tevatron.jsonl")


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
    Kind("BEIR", _beir, ["beir/*.jsonl", "beir/qrels/*"], [*RANK, "beir"], 40),
    Kind("TREC", _trec, ["trec/*"], [*RANK, "trec"], 40),
    Kind("TSV", _tsv, ["tsv/*"], [*RANK, "tsv"], 40),
    Kind("JSON lines", _json_lines, ["lines/*"], [*RANK, "lines"], 40),
    Kind("Tevatron", _tevatron, ["*.jsonl"], [*RANK, "tevatron.jsonl"], 40),
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
