"""The rows that collections are made of, as they stand in files and data frames."""

from __future__ import annotations

import hashlib
from typing import NamedTuple


class Document(NamedTuple):
    """A text that can be retrieved, and its identifier."""

    docno: str
    text: str


class Query(NamedTuple):
    """An information need in words, and its identifier."""

    qid: str
    text: str


class Judgement(NamedTuple):
    """How relevant a document is to a query; 0 and below are not relevant."""

    qid: str
    docno: str
    grade: int


class Retrieved(NamedTuple):
    """One line of a run: a document at a rank (from 1) with the score that put it there."""

    qid: str
    docno: str
    rank: int
    score: float
    tag: str


#: Queries by their identifier.
Queries = dict[str, str]
#: Grades by query, then by document.
Qrels = dict[str, dict[str, int]]
#: Retrieved documents by query, in the order of their ranks.
Run = dict[str, list[Retrieved]]


def fingerprint_of(run: Run) -> str:
    """A hash of a run's content, its scores too: they are what is measured."""
    digest = hashlib.sha256()
    for rows in run.values():
        for row in rows:
            digest.update(f"{row.qid}\t{row.docno}\t{row.rank}\t{row.score!r}\n".encode())
    return digest.hexdigest()
