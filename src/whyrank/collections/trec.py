"""TREC's tables: judgements in four columns, runs in six; read line by line, written whole or not at all."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from whyrank.collections.gather import CONTROL, finite_number, named, some, whole_number
from whyrank.collections.records import Judgement, Qrels, Retrieved, Run
from whyrank.core.atomic import whole_file
from whyrank.core.errors import UserError
from whyrank.core.lines import Line, read_lines

QRELS_COLUMNS = "qid 0 docno grade"
RUN_COLUMNS = "qid Q0 docno rank score tag"
#: What stands neither in a column nor between two: `CONTROL` without the tab.
NOT_HERE = re.compile(CONTROL.pattern.replace(r"\x00-\x1f", r"\x00-\x08\x0a-\x1f"))


def qrels(path: Path | str) -> Iterator[tuple[Line, Judgement]]:
    """Judgements, streamed; the second column is not used."""
    for line in some(path, read_lines(path), "judgement"):
        qid, _, docno, grade = _columns(line, QRELS_COLUMNS)
        yield line, Judgement(qid, docno, whole_number(line, grade, "grade"))


def run(path: Path | str) -> Iterator[tuple[Line, Retrieved]]:
    """The lines of a run, streamed, in the order of the file."""
    for line in some(path, read_lines(path), "retrieved document"):
        qid, _, docno, rank, score, tag = _columns(line, RUN_COLUMNS)
        numbers = whole_number(line, rank, "rank"), finite_number(line, score, "score")
        yield line, Retrieved(qid, docno, *numbers, tag)


def write_run(path: Path | str, run: Run) -> None:
    """Writes a run, gzip if the name ends in .gz; `read_run` returns it as it was, scores to the last digit."""
    rows = (row for found in run.values() for row in found)
    _write(path, (f"{_id(r.qid)} Q0 {_id(r.docno)} {r.rank} {float(r.score)!r} {_id(r.tag)}\n" for r in rows))


def write_qrels(path: Path | str, qrels: Qrels) -> None:
    """Writes judgements, gzip if the name ends in .gz."""
    rows = ((qid, docno, grade) for qid, grades in qrels.items() for docno, grade in grades.items())
    _write(path, (f"{_id(qid)} 0 {_id(docno)} {grade}\n" for qid, docno, grade in rows))


def _columns(line: Line, expected: str) -> list[str]:
    if found := NOT_HERE.search(line.text):
        raise line.wrong(f"{named(found)} in this line", f"write {expected!r}")
    columns = line.text.split()
    if len(columns) != len(expected.split()):
        what = f"{len(expected.split())} columns are expected, {len(columns)} found"
        raise line.wrong(what, f"write {expected!r}")
    return columns


def check_identifiers(rows: Iterable[Retrieved]) -> None:
    """Raises for an identifier that could not be written later on."""
    for row in rows:
        _id(row.qid)
        _id(row.docno)


def _id(name: str) -> str:
    """An identifier that a TREC file can hold: its columns are separated by blanks."""
    if name.split() != [name] or CONTROL.search(name):
        raise UserError(f"{name!r} cannot stand in a TREC file", todo="use identifiers without blanks")
    return name


def _write(path: Path | str, lines: Iterable[str]) -> None:
    opened = gzip.open if Path(path).suffix == ".gz" else open
    with whole_file(Path(path)) as partial, opened(partial, "wt", encoding="utf-8") as file:
        file.writelines(lines)
