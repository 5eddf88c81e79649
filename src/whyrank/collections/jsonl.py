"""Documents and queries as JSON lines: BEIR's keys, and the names other tools give the same things."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from whyrank.collections.gather import document, query, some
from whyrank.collections.records import Document, Query
from whyrank.core.lines import Line, read_json_lines

#: Where an identifier may stand, BEIR's name first.
DOCUMENT_IDS = ("_id", "id", "docno", "docid", "doc_id")
QUERY_IDS = ("_id", "id", "qid", "query_id")
#: Where a text may stand, BEIR's name first; Pyserini says `contents`, MS MARCO v2.1 `segment`.
DOCUMENT_TEXTS = ("text", "contents", "segment", "passage", "body")
QUERY_TEXTS = ("text", "query", "title")


def documents(path: Path | str) -> Iterator[tuple[Line, Document]]:
    """Documents, streamed; a title stands before the text, joined by a blank."""
    for line, row in some(path, read_json_lines(path)):
        yield document(line, one_of(line, row, DOCUMENT_IDS), titled(line, row, DOCUMENT_TEXTS))


def queries(path: Path | str) -> Iterator[tuple[Line, Query]]:
    """Queries, streamed."""
    for line, row in some(path, read_json_lines(path)):
        yield query(line, one_of(line, row, QUERY_IDS), text_of(line, row, QUERY_TEXTS))


def titled(line: Line, row: dict[str, Any], keys: Sequence[str]) -> str:
    """`title text`; the title may be missing, null or blank."""
    title = row.get("title") or ""
    if not isinstance(title, str):
        raise line.wrong("'title' must be text")
    return f"{title} {text_of(line, row, keys)}".strip()


def text_of(line: Line, row: dict[str, Any], keys: Sequence[str]) -> str:
    """The value of the first of the keys that is there, which must be text."""
    value = one_of(line, row, keys)
    if not isinstance(value, str):
        raise line.wrong(f"the text must be a string, not {value!r}"[:200])
    return value


def one_of(line: Line, row: dict[str, Any], keys: Sequence[str]) -> Any:
    """The value of the first of the keys that is there."""
    for key in keys:
        if key in row:
            return row[key]
    others = f" (or {', '.join(keys[1:])})" if keys[1:] else ""
    raise line.wrong(f"no {keys[0]!r}{others} in this line", f"its keys are {', '.join(row) or 'none'}")
