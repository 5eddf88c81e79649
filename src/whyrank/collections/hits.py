"""A query and its hits as search engines return them: Elasticsearch, OpenSearch, Vespa, Solr, or a plain list.

    {"hits": {"hits": [{"_id": "7", "_score": 3.1, "_source": {"title": "...", "body": "..."}}]}}
    {"root": {"children": [{"id": "7", "relevance": 3.1, "fields": {"title": "..."}}]}}
    {"response": {"docs": [{"id": "7", "body": "..."}]}}
    ["a text", "another"]    or    [{"id": "7", "text": "..."}]    or    {"query": "...", "hits": [...]}

Which fields hold the identifier, the title and the text is guessed from their names unless it is given, and
`fields` says what was taken.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from whyrank.collections import table, tsv
from whyrank.collections.fields import IDS, TEXTS, TITLES, Fields, named_as
from whyrank.collections.formats import format_of
from whyrank.collections.gather import NUMBER, some
from whyrank.core.errors import UserError, located
from whyrank.core.json_file import read_json
from whyrank.core.lines import read_json_lines

#: Where a score may stand.
SCORES = ("_score", "score", "relevance")
#: Where the fields of a hit stand, of the engines that do not put them beside its id.
INSIDE = ("_source", "fields")


@dataclass(frozen=True)
class Hit:
    """One document of a result list: its text begins with the title, if there is one."""

    docid: str
    text: str
    score: float | None = None


@dataclass(frozen=True)
class Hits:
    """A result list, best first, its query where the file names it, and the fields that were read."""

    query: str | None
    documents: tuple[Hit, ...]
    fields: Fields


def read_hits(path: Path | str, fields: Fields | None = None) -> Hits:
    """The hits of a file: JSON, or by its name a CSV, TSV or JSON lines, one hit a row, of one query."""
    path = Path(path)
    with located(str(path)):
        rows = _rows_of(path, fields)
        if rows is None:
            return hits_of(read_json(path), fields)
        queries = list(dict.fromkeys(row["query"] for row in rows if isinstance(row.get("query"), str)))
        if len(queries) > 1:
            raise UserError(
                f"the hits of {len(queries)} queries, such as {queries[0]!r} and {queries[1]!r}",
                todo="give the hits of one query",
            )
        return hits_of({"query": queries[0], "hits": rows} if queries else rows, fields)


def _rows_of(path: Path, fields: Fields | None) -> list[dict[str, Any]] | None:
    """The rows of a file that has one per line, by its name."""
    ending = Path(path.name.lower().removesuffix(".gz")).suffix
    if ending in (".jsonl", ".ndjson"):
        return [row for _, row in some(path, read_json_lines(path))]
    if ending not in (".csv", ".tsv"):
        return None
    if format_of(path, fields) == "table":
        return [_with_scores(row) for _, row in table.rows(path)]
    return [{"id": one.docno, "text": one.text} for _, one in tsv.documents(path)]


def _with_scores(row: dict[str, str]) -> dict[str, Any]:
    """A table's row, its scores as the numbers they are."""
    numbers = {name: float(row[name]) for name in SCORES if NUMBER.fullmatch(row.get(name, "").strip())}
    return {**row, **numbers}


def hits_of(value: Any, fields: Fields | None = None) -> Hits:
    """The hits of parsed JSON, in any of the forms above."""
    listed = _listed(value)
    if not listed:
        raise UserError("no hits", todo="give a query's hits: a JSON list, or what a search engine returned")
    query = value.get("query") if isinstance(value, dict) and isinstance(value.get("query"), str) else None
    if all(isinstance(one, str) for one in listed):
        return Hits(query, _checked([Hit(str(i), text) for i, text in enumerate(listed)]), Fields())
    rows = [_row(one, number) for number, one in enumerate(listed)]
    chosen = _chosen(rows, fields or Fields())
    return Hits(query, _checked([_hit(row, chosen, number) for number, row in enumerate(rows)]), chosen)


def _listed(value: Any) -> list[Any]:
    """The list of hits, wherever it stands."""
    for place in ((), ("hits", "hits"), ("hits",), ("root", "children"), ("response", "docs"), ("docs",)):
        inside = value
        for key in place:
            inside = inside.get(key) if isinstance(inside, dict) else None
        if isinstance(inside, list):
            return inside
    keys = f"its keys are {', '.join(value) or 'none'}" if isinstance(value, dict) else f"a {type(value).__name__}"
    raise UserError(
        f"no list of hits here ({keys})", todo="give a list, hits.hits, root.children or response.docs"
    )


def _row(hit: Any, number: int) -> dict[str, Any]:
    """The fields of a hit, those inside of it beside its own."""
    if not isinstance(hit, dict):
        raise UserError(
            f"hit {number} is a {type(hit).__name__}", todo="give all hits as texts, or all as objects"
        )
    inside = [hit[key] for key in INSIDE if isinstance(hit.get(key), dict)]
    return {**{key: value for key, value in hit.items() if key not in INSIDE}, **(inside[0] if inside else {})}


def _chosen(rows: Sequence[Mapping[str, Any]], given: Fields) -> Fields:
    """The fields that are read: those given, which must be there, or the likeliest of the first hit's."""
    known = dict.fromkeys(key for row in rows for key in row)
    given.check(known, "no hit has a field")
    text = given.text or named_as(known, TEXTS) or _longest(rows)
    if text is None:
        raise UserError(f"no field of the hits holds a text (they have {', '.join(known)})", todo="name it")
    return replace(given, text=text).of_documents(list(known))


def _longest(rows: Sequence[Mapping[str, Any]]) -> str | None:
    """The field whose texts are longest, of those that hold only texts of several words."""
    sizes: dict[str, int] = {}
    for row in rows:
        for key, value in row.items():
            texts = value if isinstance(value, list) else [value]
            if not texts or not all(isinstance(one, str) for one in texts) or key in (*IDS, *TITLES):
                continue
            if any(" " in one.strip() for one in texts):
                sizes[key] = sizes.get(key, 0) + sum(map(len, texts))
    return max(sizes, key=lambda key: sizes[key], default=None)


def _hit(row: Mapping[str, Any], fields: Fields, number: int) -> Hit:
    assert fields.text is not None
    texts = [_text(row.get(field), field, number) for field in (fields.title, fields.text) if field is not None]
    score = next((row[name] for name in SCORES if isinstance(row.get(name), int | float)), None)
    name = row.get(fields.id) if fields.id is not None else None
    docid = str(number) if name is None else str(name)
    return Hit(docid, " ".join(text for text in texts if text), None if score is None else float(score))


def _text(value: Any, field: str, number: int) -> str:
    """A field's text; of several, all, as engines return fields with many values."""
    if value is None:
        return ""
    several = value if isinstance(value, list) else [value]
    if not all(isinstance(one, str) for one in several):
        raise UserError(f"hit {number}: field '{field}' holds no text", todo="name the field that does")
    return " ".join(several).strip()


def _checked(hits: list[Hit]) -> tuple[Hit, ...]:
    """The hits, each with a text and an id of its own."""
    for number, hit in enumerate(hits):
        if not hit.text.strip():
            raise UserError(f"hit {number} ({hit.docid}) has no text", todo="name the field that holds the text")
    names = [hit.docid for hit in hits]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise UserError(f"two hits have the id {twice!r}", todo="name the field that tells them apart")
    return tuple(hits)
