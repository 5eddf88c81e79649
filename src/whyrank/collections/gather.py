"""From the rows of a file to the tables held in memory, refusing what appears twice, at its line.

Readers yield `(line, row)` pairs one by one and hold nothing; whoever needs a table makes it here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from whyrank.collections.records import Document, Judgement, Qrels, Queries, Query, Retrieved, Run
from whyrank.errors import UserError
from whyrank.store.lines import Line

T = TypeVar("T")


def some(path: Path | str, items: Iterable[T], what: str = "line") -> Iterator[T]:
    """The items, of which there must be at least one: an empty file is a mistake, not an empty result."""
    empty = True
    for item in items:
        empty = False
        yield item
    if empty:
        raise UserError(f"an empty file: no {what} in it", where=path)


def document(line: Line, docno: Any, text: str) -> tuple[Line, Document]:
    """A document at its line, refused when its identifier or its text is empty."""
    name = identifier(line, docno, "document")
    if not text.strip():
        raise line.wrong(f"document {name!r} is empty", "give it a text or take it out")
    return line, Document(name, text.strip())


def query(line: Line, qid: Any, text: str) -> tuple[Line, Query]:
    """A query at its line, refused when its identifier or its text is empty."""
    name = identifier(line, qid, "query")
    if not text.strip():
        raise line.wrong(f"query {name!r} is empty", "give it a text or take it out")
    return line, Query(name, text.strip())


def identifier(line: Line, value: Any, of: str) -> str:
    """An identifier as text; JSON may write it as a whole number."""
    if isinstance(value, bool) or not isinstance(value, str | int) or not str(value).strip():
        raise line.wrong(f"{value!r} is no identifier of a {of}", "it must be text or a whole number")
    return str(value).strip()


def whole_number(line: Line, text: str, column: str) -> int:
    """A column that must be a whole number."""
    try:
        return int(text)
    except ValueError:
        raise line.wrong(f"the {column} {text!r} is not a whole number") from None


def finite_number(line: Line, text: str, column: str) -> float:
    """A column that must be a number; NaN and infinity cannot be ranked."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise line.wrong(f"the {column} {text!r} is not a finite number")
    return value


def queries_table(rows: Iterable[tuple[Line, Query]]) -> Queries:
    """Queries by identifier."""
    table: Queries = {}
    for line, row in rows:
        if row.qid in table:
            raise line.wrong(f"query {row.qid!r} appears twice", "give each query its own identifier")
        table[row.qid] = row.text
    return table


def qrels_table(rows: Iterable[tuple[Line, Judgement]]) -> Qrels:
    """Grades by query, then by document."""
    table: Qrels = {}
    for line, row in rows:
        grades = table.setdefault(row.qid, {})
        if row.docno in grades:
            raise line.wrong(f"query {row.qid!r} judges document {row.docno!r} twice", "keep one judgement")
        grades[row.docno] = row.grade
    return table


def run_table(rows: Iterable[tuple[Line, Retrieved]]) -> Run:
    """Retrieved documents by query, in rank order; equal ranks fall back on the score, then the docno."""
    table: dict[str, dict[str, Retrieved]] = {}
    for line, row in rows:
        found = table.setdefault(row.qid, {})
        if row.docno in found:
            raise line.wrong(f"query {row.qid!r} retrieves document {row.docno!r} twice", "keep one of them")
        found[row.docno] = row
    return {qid: sorted(found.values(), key=_rank_order) for qid, found in table.items()}


def _rank_order(row: Retrieved) -> tuple[int, float, str]:
    return row.rank, -row.score, row.docno
