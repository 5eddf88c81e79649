"""BEIR's folder: corpus.jsonl, queries.jsonl and qrels/SPLIT.tsv, each of them plain or gzip."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from whyrank.collections import jsonl, tsv
from whyrank.collections.collection import Collection
from whyrank.collections.fields import Fields
from whyrank.collections.formats import read_run, said
from whyrank.collections.gather import qrels_table, queries_table
from whyrank.collections.records import Document, Qrels, Queries
from whyrank.collections.splits import MEASURED, JudgedSplit
from whyrank.core.errors import UserError, nearest


def is_beir(folder: Path) -> bool:
    """Whether a folder has BEIR's two files."""
    return all(plain_or_packed(folder, name) for name in ("corpus.jsonl", "queries.jsonl"))


def open_folder(
    folder: Path,
    split: str | None = None,
    name: str | None = None,
    *,
    all_queries: bool = False,
    fields: Fields | None = None,
) -> Collection:
    """The collection in a BEIR folder, judged by one split, with `run.trec` as its first stage if it is there.

    Queries that only other splits judge are dropped, as in BEIR's own loader, and unjudged ones stay;
    `all_queries` keeps them all, for folders whose files in qrels/ are different judges of the same queries.
    """
    corpus, queries = (needed(folder, file) for file in ("corpus.jsonl", "queries.jsonl"))
    files = splits_of(folder)
    chosen = _chosen(folder, files, split)
    tables = {name: qrels_table(tsv.qrels(path)) for name, path in files.items()}
    qrels = tables[chosen] if chosen else {}
    others = set() if all_queries else {qid for table in tables.values() for qid in table}
    texts = queries_table(jsonl.queries(queries))
    kept = {qid: text for qid, text in texts.items() if qid in qrels or qid not in others}
    usable = {chosen} if split or all_queries else {*tables}
    splits = [judged_split(one, f"qrels/{files[one].name}", texts, tables[one]) for one in tables if one in usable]
    run = plain_or_packed(folder, "run.trec")
    stage = read_run(run) if run else None
    name = name or folder.resolve().name
    notes = said(
        [(corpus, jsonl.fields_of(corpus, fields or Fields())), (queries, jsonl.query_fields_of(queries))]
    )
    return Collection(name, lambda: _documents(corpus, fields), kept, qrels, stage, splits, chosen, notes)


def judged_split(name: str, source: str, texts: Queries, qrels: Qrels) -> JudgedSplit:
    """A split with what it judges of these queries."""
    own = {qid: grades for qid, grades in qrels.items() if qid in texts}
    return JudgedSplit(name, source, {qid: texts[qid] for qid in own}, own)


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


def _documents(corpus: Path, fields: Fields | None) -> Iterator[Document]:
    return (row for _, row in jsonl.documents(corpus, fields))


def _chosen(folder: Path, files: dict[str, Path], wanted: str | None) -> str | None:
    if wanted is not None and wanted not in files:
        raise UserError(f"no judgements {wanted!r} in qrels/", where=folder, todo=nearest(wanted, files))
    usual = [split for split in MEASURED if split in files]
    return wanted or next(iter([*usual, *files]), None)
