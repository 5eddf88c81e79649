"""`id<TAB>text`, a line each, as MS MARCO writes its passages and queries; and BEIR's judgements."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from whyrank.collections.gather import document, identifier, query, some, whole_number
from whyrank.collections.records import Document, Judgement, Query
from whyrank.core.lines import Line, read_lines

#: The first line of BEIR's judgements.
QRELS_HEADER = ("query-id", "corpus-id", "score")


def documents(path: Path | str) -> Iterator[tuple[Line, Document]]:
    """Documents, streamed."""
    return (document(line, *_columns(line, 2)) for line in some(path, read_lines(path)))


def queries(path: Path | str) -> Iterator[tuple[Line, Query]]:
    """Queries, streamed."""
    return (query(line, *_columns(line, 2)) for line in some(path, read_lines(path)))


def qrels(path: Path | str) -> Iterator[tuple[Line, Judgement]]:
    """Judgements in three columns, `query-id<TAB>corpus-id<TAB>score`, below BEIR's header, streamed."""
    return some(path, _judgements(path), "judgement")


def _judgements(path: Path | str) -> Iterator[tuple[Line, Judgement]]:
    for line in read_lines(path):
        qid, docno, grade = _columns(line, len(QRELS_HEADER))
        if (qid, docno, grade) != QRELS_HEADER:
            qid, docno = identifier(line, qid, "query"), identifier(line, docno, "document")
            yield line, Judgement(qid, docno, whole_number(line, grade.strip(), "grade"))


def _columns(line: Line, expected: int) -> list[str]:
    columns = line.text.split("\t")
    if len(columns) != expected:
        found = f"{len(columns)} column{'s' if len(columns) > 1 else ''}"
        raise line.wrong(f"{expected} columns are expected, {found} found", "separate them by one tab each")
    return columns
