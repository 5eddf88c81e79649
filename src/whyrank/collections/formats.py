"""Which reader a file needs, by its first line: TREC mark-up, JSON lines, tab-separated, a table, columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from whyrank.collections import jsonl, table, trec, trec_markup, tsv
from whyrank.collections.fields import Fields
from whyrank.collections.gather import qrels_table, queries_table, run_table
from whyrank.collections.records import Document, Judgement, Qrels, Queries, Query, Run
from whyrank.core.errors import UserError
from whyrank.core.lines import Line, read_lines

DocumentReader = Callable[[Path], Iterator[tuple[Line, Document]]]
QueryReader = Callable[[Path], Iterator[tuple[Line, Query]]]
QrelsReader = Callable[[Path], Iterator[tuple[Line, Judgement]]]

#: The formats whose fields have no names, and those whose fields do.
DOCUMENTS: dict[str, DocumentReader] = {"markup": trec_markup.documents, "tsv": tsv.documents}
NAMED_FIELDS = {"jsonl": jsonl, "table": table}
QUERIES: dict[str, QueryReader] = {
    "markup": trec_markup.topics,
    "tsv": tsv.queries,
    "jsonl": jsonl.queries,
    "table": table.queries,
}
#: What the two kinds of texts look like, for the message when a file is neither.
LOOKS = "TREC mark-up (<DOC>, <top>), JSON lines ({...}), a CSV by its name (.csv), or id<TAB>text"


def read_documents(path: Path | str, fields: Fields | None = None) -> Iterator[Document]:
    """The documents of a file in any of the formats, streamed; `fields` that are not named are guessed."""
    path = Path(path)
    kind = format_of(path, fields)
    rows = NAMED_FIELDS[kind].documents(path, fields) if kind in NAMED_FIELDS else DOCUMENTS[kind](path)
    return (row for _, row in rows)


def read_queries(path: Path | str) -> Queries:
    """The queries of a file in any of the formats."""
    return queries_table(QUERIES[format_of(Path(path))](Path(path)))


def read_qrels(path: Path | str) -> Qrels:
    """The judgements of a TREC file (four columns) or of a BEIR one (three, tab-separated, with a header)."""
    return qrels_table(_qrels_reader(Path(path))(Path(path)))


def read_run(path: Path | str) -> Run:
    """A TREC run (six columns): by query, in the order of the ranks."""
    return run_table(trec.run(path))


def fields_said(documents: Path, queries: Path, given: Fields | None = None) -> tuple[str, ...]:
    """Which fields are read of each file, where that is not in the nature of its format; raises for `given` fields
    that the documents do not have."""
    kind = format_of(documents, given)
    if kind not in NAMED_FIELDS and given and given.given():
        what = f"no field '{given.given()[0]}': this file names no fields"
        raise UserError(what, where=documents, todo="give a CSV or TSV with a header, or JSON lines")
    read = []
    if kind in NAMED_FIELDS:
        read.append((documents, NAMED_FIELDS[kind].fields_of(documents, given or Fields())))
    if (kind := format_of(queries)) in NAMED_FIELDS:
        read.append((queries, NAMED_FIELDS[kind].query_fields_of(queries)))
    return said(read)


def said(read: Iterable[tuple[Path, Fields]]) -> tuple[str, ...]:
    """`documents.csv: id from docid, text from body`; nothing of BEIR's own keys."""
    return tuple(f"{path.name}: {fields}" for path, fields in read if str(fields) and fields not in jsonl.BEIR)


def format_of(path: Path, given: Fields | None = None) -> str:
    """`markup`, `jsonl`, `tsv` (id<TAB>text) or `table` (named columns, perhaps by one of the `given` names)."""
    line = first_line(path)
    start = line.text.lstrip()
    if start.startswith("<"):
        return "markup"
    if start.startswith("{"):
        return "jsonl"
    if table.is_csv(path):
        return "table"
    if "\t" in line.text:
        return "table" if table.has_header(line.text, given) else "tsv"
    raise line.wrong("cannot tell the format of this file", f"it should be {LOOKS}")


def first_line(path: Path) -> Line:
    """The first line that is not blank, of a file that can be read again."""
    if path.exists() and not path.is_file():
        raise UserError("only a file can be read here, no pipe", where=path, todo="write it to a file first")
    for line in read_lines(path):
        return line
    raise UserError("an empty file", where=path)


def _qrels_reader(path: Path) -> QrelsReader:
    columns = first_line(path).text.split("\t")
    return tsv.qrels if len(columns) == len(tsv.QRELS_HEADER) else trec.qrels
