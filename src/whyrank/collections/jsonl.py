"""Documents and queries as JSON lines: BEIR's keys, and the names other tools give the same things."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from whyrank.collections.fields import Fields
from whyrank.collections.gather import document, query, some
from whyrank.collections.records import Document, Query
from whyrank.core.errors import located
from whyrank.core.lines import Line, read_json_lines

#: Where an identifier may stand, BEIR's name first.
DOCUMENT_IDS = ("_id", "id", "docno", "docid", "doc_id", "documentid", "url")
QUERY_IDS = ("_id", "id", "qid", "query_id")
#: Where a text may stand, BEIR's name first; Pyserini says `contents`, MS MARCO v2.1 `segment`.
DOCUMENT_TEXTS = (
    "text", "contents", "segment", "passage", "body", "content", "description", "abstract", "summary",
)  # fmt: skip
QUERY_TEXTS = ("text", "query", "title")
#: BEIR's own keys, of which nothing needs to be said.
BEIR = (Fields("_id", "title", "text"), Fields("_id", None, "text"))


def documents(path: Path | str, fields: Fields | None = None) -> Iterator[tuple[Line, Document]]:
    """Documents, streamed; a title stands before the text, joined by a blank."""
    given = fields or Fields()
    ids, texts, title = _keys(given.id, DOCUMENT_IDS), _keys(given.text, DOCUMENT_TEXTS), given.title or "title"
    for line, row in some(path, read_json_lines(path)):
        yield document(line, one_of(line, row, ids), titled(line, row, texts, title))


def queries(path: Path | str) -> Iterator[tuple[Line, Query]]:
    """Queries, streamed."""
    for line, row in some(path, read_json_lines(path)):
        yield query(line, one_of(line, row, QUERY_IDS), text_of(line, row, QUERY_TEXTS))


def fields_of(path: Path, given: Fields) -> Fields:
    """The keys that documents are read from, by the first line; those given must be there."""
    line, row = next(some(path, read_json_lines(path)))
    with located(line.where):
        given.check(row, "no key")
    text = given.text or _first(row, DOCUMENT_TEXTS)
    title = given.title or ("title" if "title" in row and text != "title" else None)
    return Fields(given.id or _first(row, DOCUMENT_IDS), title, text)


def query_fields_of(path: Path) -> Fields:
    """The keys that queries are read from, by the first line."""
    _, row = next(some(path, read_json_lines(path)))
    return Fields(_first(row, QUERY_IDS), None, _first(row, QUERY_TEXTS))


def titled(line: Line, row: dict[str, Any], keys: Sequence[str], title: str = "title") -> str:
    """`title text`; the title may be missing, null or blank."""
    before = row.get(title) or ""
    if not isinstance(before, str):
        raise line.wrong(f"{title!r} must be text")
    text = text_of(line, row, keys)
    return text if title in keys else f"{before} {text}".strip()


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


def _keys(given: str | None, usual: Sequence[str]) -> Sequence[str]:
    return usual if given is None else (given,)


def _first(row: dict[str, Any], keys: Sequence[str]) -> str | None:
    return next((key for key in keys if key in row), None)
