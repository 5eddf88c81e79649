"""A folder with a file for each part of a collection, in any of the formats, found by its name."""

from __future__ import annotations

from pathlib import Path

from whyrank.collections import beir, formats
from whyrank.collections.collection import Collection
from whyrank.collections.fields import Fields
from whyrank.collections.splits import MEASURED, JudgedSplit
from whyrank.core.errors import UserError

#: What the file of each part may be called, before its first dot.
DOCUMENTS = ("documents", "docs", "collection", "corpus")
QUERIES = ("queries", "topics")
QRELS = ("qrels",)
RUN = ("run",)
#: How many of many files an error names.
NAMED = 3
#: What such a file may end in; gzip may follow.
SUFFIXES = {
    ".jsonl",
    ".json",
    ".tsv",
    ".txt",
    ".trec",
    ".sgml",
    ".sgm",
    ".xml",
    ".qrels",
    ".qrel",
    ".run",
    ".res",
}
#: Documents and queries may be a CSV, too.
TEXT_SUFFIXES = SUFFIXES | {".csv"}


def open_folder(folder: Path, split: str | None = None, fields: Fields | None = None) -> Collection:
    """A BEIR folder, or one with documents.*, queries.* perhaps qrels.* and run.*; `fields` are the documents'."""
    if beir.is_beir(folder) and (beir.splits_of(folder) or not _judgement_files(folder)):
        return beir.open_folder(folder, split, fields=fields)
    documents, qrels = _needed(folder, DOCUMENTS), _judgements(folder, split)
    if split and not qrels:
        raise UserError(f"no judgements {split!r} here", where=folder, todo=f"looked for qrels.{split}.*")
    if not qrels and (unread := _judgement_files(folder)):
        raise not_read("judgements", unread, folder)
    chosen = split or (_split_of(qrels) if qrels else None)
    queries_file, run = _queries(folder, chosen), _found(folder, RUN)
    said = formats.fields_said(documents, queries_file, fields)  # refuses an unreadable file before the first pass
    queries = formats.read_queries(queries_file)
    grades = formats.read_qrels(qrels) if qrels else {}
    splits = [_judged(folder, name) for name in ([split] if split else _split_names(folder))]
    if qrels and not splits:  # one file, of no split in particular
        chosen = QRELS[0]
        splits = [beir.judged_split(chosen, str(qrels.relative_to(folder)), queries, grades)]
    return Collection(
        folder.resolve().name,
        lambda: formats.read_documents(documents, fields),
        queries,
        grades,
        formats.read_run(run) if run else None,
        splits,
        chosen,
        said,
    )


def _judgements(folder: Path, split: str | None = None) -> Path | None:
    return _found(folder, QRELS, split) or _found(folder / "qrels", (), split)


def _queries(folder: Path, split: str | None) -> Path:
    """The file of a split's queries, or that of all queries."""
    return (_first_of(folder, QUERIES, split) if split else None) or _needed(folder, QUERIES)


def _split_names(folder: Path) -> list[str]:
    """The splits whose judgements have a file of their own."""
    return [name for name in MEASURED if _first_of(folder, QRELS, name) or _first_of(folder / "qrels", (), name)]


def _judged(folder: Path, name: str) -> JudgedSplit:
    file = _first_of(folder, QRELS, name) or _first_of(folder / "qrels", (), name)
    assert file is not None
    texts = formats.read_queries(_queries(folder, name))
    return beir.judged_split(name, str(file.relative_to(folder)), texts, formats.read_qrels(file))


def _first_of(folder: Path, names: tuple[str, ...], split: str) -> Path | None:
    """The first file of a split: `qrels.dev.small.tsv` before `qrels.dev.tsv`."""
    fits = [file for file in _files(folder) if _named(file, names) and _is_read(file, names)]
    return next((file for file in fits if split in file.name.split(".")), None)


def _split_of(file: Path) -> str | None:
    return next((split for split in MEASURED if split in file.name.split(".")), None)


def not_read(what: str, files: list[Path], folder: Path) -> UserError:
    """The error for a part of a collection whose only files are not read, because of their ending."""
    names = ", ".join(str(file.relative_to(folder)) for file in files[:NAMED])
    endings = TEXT_SUFFIXES if what in (*DOCUMENTS, *QUERIES) else SUFFIXES
    return UserError(
        f"no {what} in this folder: {names} {'is' if len(files) == 1 else 'are'} not read, because of the ending",
        where=folder,
        todo=f"give TREC, tab-separated or JSON lines files, ending in {', '.join(sorted(endings))}, perhaps .gz",
    )


def _needed(folder: Path, names: tuple[str, ...]) -> Path:
    found = _found(folder, names)
    if found is None:
        if unread := _unread(folder, names):
            raise not_read(names[0], unread, folder)
        looked = ", ".join(f"{name}.*" for name in names)
        raise UserError(
            f"no {names[0]} in this folder", where=folder, todo=f"looked for {looked}, perhaps with .gz"
        )
    return found


def _found(folder: Path, names: tuple[str, ...], split: str | None = None) -> Path | None:
    """The one file with such a name (any name, when none is given), of this split if there are several."""
    fits = [file for file in _files(folder) if _named(file, names) and _is_read(file, names)]
    of_split = [file for file in fits if split in file.name.split(".")]
    usual = [file for name in MEASURED for file in fits if name in file.name.split(".")]
    chosen = of_split if split else fits if len(fits) < 2 else usual[:1] or fits
    if len(chosen) > 1:
        several = ", ".join(file.name for file in chosen)
        raise UserError(f"several files could be meant: {several}", where=folder, todo="keep one of them here")
    return chosen[0] if chosen else None


def _judgement_files(folder: Path) -> list[Path]:
    """Files named as judgements are, whatever they end in."""
    return [file for file in _files(folder) if _named(file, QRELS)] + _files(folder / "qrels")


def _unread(folder: Path, names: tuple[str, ...]) -> list[Path]:
    """Files that are named as they should be and end as they should not."""
    return [file for file in _files(folder) if _named(file, names) and not _is_read(file, names)]


def _files(folder: Path) -> list[Path]:
    inside = sorted(folder.iterdir()) if folder.is_dir() else []
    return [file for file in inside if file.is_file() and not file.name.startswith(".")]


def _named(file: Path, names: tuple[str, ...]) -> bool:
    return not names or file.name.split(".")[0] in names


def _is_read(file: Path, names: tuple[str, ...]) -> bool:
    plain = file.with_suffix("") if file.suffix == ".gz" else file
    read = TEXT_SUFFIXES if names in (DOCUMENTS, QUERIES) else SUFFIXES
    return plain.suffix in read or (not plain.suffix and bool(names))
