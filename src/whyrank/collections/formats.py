"""Which reader a file needs, by its first line: TREC mark-up, JSON lines, tab-separated, columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from whyrank.collections import jsonl, trec, trec_markup, tsv
from whyrank.collections.gather import qrels_table, queries_table, run_table
from whyrank.collections.records import Document, Judgement, Qrels, Queries, Query, Run
from whyrank.core.errors import UserError
from whyrank.core.lines import Line, read_lines

DocumentReader = Callable[[Path], Iterator[tuple[Line, Document]]]
QueryReader = Callable[[Path], Iterator[tuple[Line, Query]]]
QrelsReader = Callable[[Path], Iterator[tuple[Line, Judgement]]]

DOCUMENTS: dict[str, DocumentReader] = {
    "markup": trec_markup.documents,
    "jsonl": jsonl.documents,
    "tsv": tsv.documents,
}
QUERIES: dict[str, QueryReader] = {"markup": trec_markup.topics, "jsonl": jsonl.queries, "tsv": tsv.queries}
#: What the two kinds of texts look like, for the message when a file is neither.
LOOKS = "TREC mark-up (<DOC>, <top>), JSON lines ({...}) or id<TAB>text"


def read_documents(path: Path | str) -> Iterator[Document]:
    """The documents of a file in any of the formats, streamed."""
    rows = DOCUMENTS[format_of(Path(path))](Path(path))
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


def format_of(path: Path) -> str:
    """`markup`, `jsonl` or `tsv`."""
    line = first_line(path)
    start = line.text.lstrip()
    if start.startswith("<"):
        return "markup"
    if start.startswith("{"):
        return "jsonl"
    if "\t" in line.text:
        return "tsv"
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
