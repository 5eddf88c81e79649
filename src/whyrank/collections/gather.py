"""From the rows of a file to the tables held in memory, refusing what appears twice, at its line.

Readers yield `(line, row)` pairs one by one and hold nothing; whoever needs a table makes it here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from whyrank.collections.records import Document, Judgement, Qrels, Queries, Query, Retrieved, Run
from whyrank.core.errors import UserError
from whyrank.core.lines import Line

T = TypeVar("T")

#: What no identifier holds: control characters (NUL, tabs, line breaks), Unicode's line breaks, and the mark at
#: the beginning of a file (U+FEFF), which stays inside where files were joined.
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff]")
WHOLE = re.compile(r"[+-]?[0-9]+")
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
#: Grades and ranks are below it, as in trec_eval's 32 bits.
LARGEST = 2**31


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
        raise line.wrong(f"{value!r} is not an identifier of a {of}", "it must be text or a whole number")
    name = str(value).strip()
    if found := CONTROL.search(name):
        raise line.wrong(f"the identifier {name[:80]!r} of a {of} holds {named(found)}", "take it out")
    return name


def named(found: re.Match[str]) -> str:
    """`the character U+FEFF`."""
    return f"the character U+{ord(found.group()):04X}"


def whole_number(line: Line, text: str, column: str) -> int:
    """A column that must be a whole number, in plain digits: Python would read 1_000 and １, too."""
    if not WHOLE.fullmatch(text) or len(text) > len(str(LARGEST)) + 1 or abs(int(text)) >= LARGEST:
        raise line.wrong(f"the {column} {text[:80]!r} is not a whole number", f"plain digits, below {LARGEST}")
    return int(text)


def finite_number(line: Line, text: str, column: str) -> float:
    """A column that must be a number in plain digits; NaN and infinity cannot be ranked."""
    value = float(text) if NUMBER.fullmatch(text) else math.nan
    if not math.isfinite(value):
        raise line.wrong(f"the {column} {text[:80]!r} is not a finite number", "plain digits: 12, -3.5 or 1e-05")
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
