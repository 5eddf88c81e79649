"""CSV, and tab-separated files with a header: documents and queries whose columns have names.

Quotes are read as RFC 4180 has them: a quoted cell may hold the separator, line breaks, and a quote written twice.
A CSV's first row names its columns. A tab-separated file has a header if its first row names known columns, or one
that was asked for; without it, it is `id<TAB>text` (see `tsv`).
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

from whyrank.collections.fields import IDS, QUERY_IDS, QUERY_TEXTS, TEXTS, TITLES, Fields, of_queries
from whyrank.collections.gather import document, query, some
from whyrank.collections.records import Document, Query
from whyrank.core.errors import UserError, located
from whyrank.core.lines import Line, every_line, max_line, read_lines, too_long

#: What may stand between two cells of a CSV; the one most often found in its first line does.
SEPARATORS = (",", ";", "\t")
UNCLOSED = "unexpected end of data"


def is_csv(path: Path) -> bool:
    """Whether a file is a CSV, by its name: `hits.csv`, `hits.csv.gz`."""
    return path.name.lower().removesuffix(".gz").endswith(".csv")


def has_header(text: str, given: Fields | None = None) -> bool:
    """Whether a line of tab-separated cells names columns: an id and a text, an id first, or a given field."""
    cells = [cell.strip().strip('"') for cell in text.split("\t")]
    names = [cell.lower() for cell in cells]
    ids, texts = {*IDS, *QUERY_IDS}, {*TEXTS, *TITLES, *QUERY_TEXTS}
    both = not ids.isdisjoint(names) and not texts.isdisjoint(names)
    return both or names[0] in ids or any(field in cells for field in (given or Fields()).given())


def documents(path: Path | str, fields: Fields | None = None) -> Iterator[tuple[Line, Document]]:
    """Documents, streamed; a title stands before the text, joined by a blank."""
    chosen = fields_of(Path(path), fields or Fields())
    _check(Path(path), chosen, ("name it as id_field", "name it as text_field"))
    assert chosen.id and chosen.text
    for line, row in rows(path):
        title = row[chosen.title].strip() if chosen.title else ""
        yield document(line, row[chosen.id], f"{title} {row[chosen.text]}")


def queries(path: Path | str) -> Iterator[tuple[Line, Query]]:
    """Queries, streamed."""
    chosen = query_fields_of(Path(path))
    _check(Path(path), chosen, ("call it qid", "call it text"))
    assert chosen.id and chosen.text
    for line, row in rows(path):
        yield query(line, row[chosen.id], row[chosen.text])


def fields_of(path: Path, given: Fields) -> Fields:
    """The columns that documents are read from: those given, which must be there, the others by their names."""
    line, names = _header(path)
    with located(line.where):
        given.check(names, "no column")
    return given.of_documents(names)


def query_fields_of(path: Path) -> Fields:
    """The columns that queries are read from, by their names."""
    return of_queries(_header(path)[1])


def _check(path: Path, chosen: Fields, todo: tuple[str, str]) -> None:
    """Raises where the column of the id or the text is not known; whoever reads only judgements need not know."""
    for what, column, way in zip(("id", "text"), (chosen.id, chosen.text), todo, strict=True):
        if column is None:
            line, names = _header(path)
            there = ", ".join(names)
            raise line.wrong(f"no column is known to hold the {what} (the columns are {there})", way)


def rows(path: Path | str) -> Iterator[tuple[Line, dict[str, str]]]:
    """Each row below the header, by the names of its columns, at the line where it begins."""
    path = Path(path)
    _, names = _header(path, unnamed=True)
    below = _records(path)
    next(below)
    for line, cells in some(path, below, "row below its header"):
        if len(cells) != len(names):
            raise line.wrong(
                f"{len(names)} columns are expected, {len(cells)} found",
                "quote cells that hold the separator or a line break, and write a quote inside quotes twice",
            )
        yield line, {name: cell for name, cell in zip(names, cells, strict=True) if name}


def _header(path: Path, *, unnamed: bool = False) -> tuple[Line, list[str]]:
    """The names of the columns, each once; columns without a name are passed over unless they are asked for."""
    line, cells = next(some(path, _records(path)))
    names = [cell.strip() for cell in cells]
    named = [name for name in names if name]
    if twice := next((name for name in named if named.count(name) > 1), None):
        raise line.wrong(f"two columns are called {twice!r}", "give each column its own name")
    return line, names if unnamed else named


def _records(path: Path) -> Iterator[tuple[Line, list[str]]]:
    """Rows of cells, the header first; rows of blank cells are passed over."""
    csv.field_size_limit(max_line())
    lines = (f"{line.text}\n" for line in every_line(path))
    reader = csv.reader(lines, delimiter=_separator(path), strict=True)
    begins = 1
    try:
        for cells in reader:
            if any(map(str.strip, cells)):
                yield Line(path, begins, ""), cells
            begins = reader.line_num + 1
    except csv.Error as error:
        raise _wrong(Line(path, begins, ""), str(error)) from error


def _wrong(line: Line, why: str) -> UserError:
    if "field limit" in why:
        return too_long("a cell of the row that begins here", line.where)
    what = "a quote that opens in this row is never closed" if why == UNCLOSED else f"not a row of cells ({why})"
    return line.wrong(what, 'write a quote inside quotes twice: "a ""quoted"" word"')


def _separator(path: Path) -> str:
    first = next(read_lines(path), None)
    if first is None or not is_csv(path):
        return "\t"
    return max(SEPARATORS, key=first.text.count)
