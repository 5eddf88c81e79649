"""BEIR's folder: corpus.jsonl, queries.jsonl and qrels/SPLIT.tsv, each of them plain or gzip."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from whyrank.collections import jsonl, tsv
from whyrank.collections.collection import Collection
from whyrank.collections.formats import read_run
from whyrank.collections.gather import qrels_table, queries_table
from whyrank.collections.records import Document, Qrels
from whyrank.errors import UserError, nearest

#: The split that is taken when none is named: the first of these that is there.
SPLITS = ("test", "dev", "train")


def is_beir(folder: Path) -> bool:
    """Whether a folder has BEIR's two files."""
    return all(plain_or_packed(folder, name) for name in ("corpus.jsonl", "queries.jsonl"))


def open_folder(
    folder: Path, split: str | None = None, name: str | None = None, *, all_queries: bool = False
) -> Collection:
    """The collection in a BEIR folder, judged by one split, with `run.trec` as its first stage if it is there.

    Queries that only other splits judge are left out, as in BEIR's own loader, and unjudged ones stay;
    `all_queries` keeps them all, for folders whose files in qrels/ are different judges of the same queries.
    """
    corpus, queries = (needed(folder, file) for file in ("corpus.jsonl", "queries.jsonl"))
    splits = splits_of(folder)
    qrels = _split(folder, splits, split)
    others = set() if all_queries else {qid for other in splits.values() for qid in _judged(other)}
    texts = queries_table(jsonl.queries(queries))
    kept = {qid: text for qid, text in texts.items() if qid in qrels or qid not in others}
    run = plain_or_packed(folder, "run.trec")
    stage = read_run(run) if run else None
    return Collection(name or folder.resolve().name, lambda: _documents(corpus), kept, qrels, stage)


def plain_or_packed(folder: Path, name: str) -> Path | None:
    """`name` or `name.gz` in a folder."""
    return next((path for path in (folder / name, folder / f"{name}.gz") if path.is_file()), None)


def needed(folder: Path, name: str) -> Path:
    """`name` or `name.gz` in a folder, which must be there."""
    found = plain_or_packed(folder, name)
    if found is None:
        raise UserError(f"no {name} or {name}.gz here", where=folder)
    return found


def splits_of(folder: Path) -> dict[str, Path]:
    """Each split's judgements: qrels/SPLIT.tsv or SPLIT.tsv.gz, and nothing else that lies there."""
    found: dict[str, Path] = {}
    for path in sorted([*folder.glob("qrels/[!.]*.tsv"), *folder.glob("qrels/[!.]*.tsv.gz")]):
        split = path.name.removesuffix(".gz").removesuffix(".tsv")
        if split in found:
            raise UserError(
                f"{found[split].name} and {path.name} are both here", where=path.parent, todo="keep one"
            )
        found[split] = path
    return found


def _documents(corpus: Path) -> Iterator[Document]:
    return (row for _, row in jsonl.documents(corpus))


def _split(folder: Path, splits: dict[str, Path], wanted: str | None) -> Qrels:
    if wanted is not None and wanted not in splits:
        raise UserError(f"no judgements {wanted!r} in qrels/", where=folder, todo=nearest(wanted, splits))
    usual = [split for split in SPLITS if split in splits]
    chosen = wanted or next(iter([*usual, *splits]), None)
    return qrels_table(tsv.qrels(splits[chosen])) if chosen else {}


def _judged(path: Path) -> set[str]:
    return {row.qid for _, row in tsv.qrels(path)}
