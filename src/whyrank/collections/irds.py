"""Collections of ir_datasets, by their id: `vaswani`, `msmarco-passage/trec-dl-2019/judged`; an extra."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from typing import Any

from whyrank.collections.collection import Collection
from whyrank.collections.records import Document, Qrels, Queries, Retrieved, Run
from whyrank.core.errors import UserError, nearest

#: What ir_datasets logs of each try of a download that fails; one line of ours says it once.
TRIES = ("download error", "Download failed")
#: Letters of its complaint that are shown.
SHOWN = 100


def is_known(name: str) -> bool:
    """Whether ir_datasets is here and has a collection of this name."""
    if find_spec("ir_datasets") is None:
        return False
    import ir_datasets

    return name in set(ir_datasets.registry)


def open_dataset(name: str) -> Collection:
    """The collection with this ir_datasets id; its files are fetched by ir_datasets when they are first needed."""
    dataset = _load(name)
    if not (dataset.has_docs() and dataset.has_queries()):
        raise UserError(f"{name} has no documents or no queries of its own", todo=f"try one of {name}/...")
    with _fetching(name):
        qrels = _qrels(dataset) if dataset.has_qrels() else None
        stage = _run(dataset) if dataset.has_scoreddocs() else None
        return Collection(name, partial(_documents, name), _queries(name, dataset), qrels, stage)


@contextmanager
def _fetching(name: str) -> Iterator[None]:
    """What ir_datasets cannot fetch or read is one line, without a line for each of its tries."""
    log = logging.getLogger("ir_datasets")
    log.addFilter(_is_no_try)
    try:
        yield
    except (RuntimeError, OSError, EOFError, ValueError) as error:
        why = " ".join(str(error.args[0] if error.args else error).split())[:SHOWN]
        raise UserError(
            f"ir_datasets could not fetch or read {name!r} ({type(error).__name__}: {why})",
            todo="it needs the network the first time; or give a folder with documents, queries and qrels",
        ) from error
    finally:
        log.removeFilter(_is_no_try)


def _is_no_try(record: logging.LogRecord) -> bool:
    return not record.getMessage().startswith(TRIES)


def _load(name: str) -> Any:
    try:
        import ir_datasets
    except ImportError as error:
        what = f"{name!r} is not a file or folder here, and reading it as an ir_datasets id needs an extra"
        raise UserError(what, todo="run: pip install whyrank[datasets]") from error
    try:
        return ir_datasets.load(name)
    except KeyError as error:
        known = [str(key) for key in getattr(ir_datasets, "registry", ())]
        todo = nearest(name, known) if known else "see https://ir-datasets.com"
        raise UserError(f"ir_datasets has no {name!r}", todo=todo) from error


def _documents(name: str) -> Iterator[Document]:
    """Opened anew: a dataset that is open cannot be sent to another process."""
    with _fetching(name):
        for row in _load(name).docs_iter():
            yield Document(str(row.doc_id), _text(name, "document", row.doc_id, row))


def _queries(name: str, dataset: Any) -> Queries:
    table: Queries = {}
    for row in dataset.queries_iter():
        if row.query_id in table:
            raise UserError(f"query {row.query_id!r} appears twice", where=name)
        table[row.query_id] = _text(name, "query", row.query_id, row)
    return table


def _text(name: str, kind: str, identifier: str, row: Any) -> str:
    """ir_datasets' own choice among the fields of a row: for documents title and text, for topics the title."""
    text = str(row.default_text()).strip()
    if not text:
        raise UserError(f"{kind} {identifier!r} is empty", where=name)
    return text


def _qrels(dataset: Any) -> Qrels:
    """Grades; a pair judged more than once, as in TREC tracks with subtopics, keeps its highest grade."""
    table: Qrels = {}
    for row in dataset.qrels_iter():
        grades = table.setdefault(row.query_id, {})
        grades[row.doc_id] = max(int(row.relevance), grades.get(row.doc_id, int(row.relevance)))
    return table


def _run(dataset: Any) -> Run:
    table: dict[str, list[Any]] = {}
    for row in dataset.scoreddocs_iter():
        table.setdefault(row.query_id, []).append(row)
    return {qid: _ranked(rows) for qid, rows in table.items()}


def _ranked(rows: list[Any]) -> list[Retrieved]:
    order = sorted(rows, key=lambda row: (-row.score, row.doc_id))
    return [
        Retrieved(r.query_id, r.doc_id, n, float(r.score), "ir_datasets") for n, r in enumerate(order, start=1)
    ]
