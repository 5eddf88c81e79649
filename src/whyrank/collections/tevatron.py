"""Tevatron's training files: each JSON line is a query with its positive and negative passages.

Positives are judged 1, negatives 0. A passage may recur under many queries; it is one document, and its text
must be the same each time.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from whyrank.collections.gather import document, identifier, query, some
from whyrank.collections.jsonl import one_of, text_of, titled
from whyrank.collections.records import Document, Judgement, Query
from whyrank.core.lines import Line, read_json_lines

#: The key that tells a Tevatron file from any other JSON lines, and the grade of its passages.
POSITIVE, NEGATIVE = "positive_passages", "negative_passages"


def documents(path: Path | str) -> Iterator[tuple[Line, Document]]:
    """The passages, streamed, each once; of those that went by only a hash is kept."""
    seen: dict[str, int] = {}
    for line, row in _rows(path):
        for passage in (*_passages(line, row, POSITIVE), *_passages(line, row, NEGATIVE)):
            _, found = document(line, one_of(line, passage, ["docid"]), titled(line, passage, ["text"]))
            if found.docno not in seen:
                seen[found.docno] = hash(found.text)
                yield line, found
            elif seen[found.docno] != hash(found.text):
                raise line.wrong(f"passage {found.docno!r} had another text before", "a docid must be one text")


def queries(path: Path | str) -> Iterator[tuple[Line, Query]]:
    """The queries, streamed."""
    for line, row in _rows(path):
        yield query(line, one_of(line, row, ["query_id"]), text_of(line, row, ["query"]))


def qrels(path: Path | str) -> Iterator[tuple[Line, Judgement]]:
    """The judgements, streamed: 1 for a positive passage, 0 for a negative one."""
    for line, row in _rows(path):
        qid = identifier(line, one_of(line, row, ["query_id"]), "query")
        for key, grade in ((POSITIVE, 1), (NEGATIVE, 0)):
            for passage in _passages(line, row, key):
                yield (
                    line,
                    Judgement(qid, identifier(line, one_of(line, passage, ["docid"]), "passage"), grade),
                )


def is_tevatron(path: Path) -> bool:
    """Whether the first line of a JSON lines file is Tevatron's."""
    return any(POSITIVE in row for _, row in some(path, _first(path)))


def _first(path: Path) -> Iterator[tuple[Line, dict[str, Any]]]:
    for pair in read_json_lines(path):
        yield pair
        return


def _rows(path: Path | str) -> Iterator[tuple[Line, dict[str, Any]]]:
    for line, row in some(path, read_json_lines(path)):
        one_of(line, row, [POSITIVE])
        yield line, row


def _passages(line: Line, row: dict[str, Any], key: str) -> list[dict[str, Any]]:
    """The passages below a key; a file without negatives may leave that key out."""
    passages = row.get(key) or []
    if not isinstance(passages, list) or not all(isinstance(passage, dict) for passage in passages):
        raise line.wrong(f"{key!r} must be a list of passages", "each an object with docid, title and text")
    return passages
