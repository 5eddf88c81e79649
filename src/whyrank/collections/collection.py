"""A collection: documents that are streamed, and queries, judgements and a first stage that are held."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from whyrank.collections import formats
from whyrank.collections.fields import Fields
from whyrank.collections.records import Document, Qrels, Queries, Run
from whyrank.collections.splits import JudgedSplit, counts
from whyrank.core.errors import UserError
from whyrank.text.markup import holds_tags, without_markup
from whyrank.text.words import ENGLISH, NO_STEMS, Analyzer

#: How many of many identifiers an error names.
NAMED = 5
T = TypeVar("T")


class Collection:
    """Documents, queries, judgements and, if there is one, a first-stage run.

    Documents are read anew on each pass and never held, so a collection may be larger than memory. Judgements
    and runs keep only the collection's own queries; they may speak of documents that it lacks (a pool is
    larger than a sample), and only `texts` insists that a document is there.

    `qrels` are the judgements of the split called `split`, where the files have splits; `splits` are all that may
    be used: those of the folder, or the one that was asked for by name. `notes` say how the files were read, and
    `language` how words are stemmed where BM25 counts them.
    """

    def __init__(
        self,
        name: str,
        documents: Callable[[], Iterator[Document]],
        queries: Queries,
        qrels: Qrels | None = None,
        first_stage: Run | None = None,
        splits: Iterable[JudgedSplit] = (),
        split: str | None = None,
        notes: Sequence[str] = (),
        language: str = ENGLISH,
    ) -> None:
        self.name = name
        self._documents = documents
        self.queries = queries
        self.qrels: Qrels = self._own("judgements", qrels or {})
        self.first_stage: Run | None = self._own("run", first_stage) if first_stage is not None else None
        self.splits = {one.name: one for one in splits}
        self.split = split
        self.notes = tuple(notes)
        self.analyzer = Analyzer.of(language)

    @classmethod
    def from_files(
        cls,
        documents: Path | str,
        queries: Path | str,
        qrels: Path | str | None = None,
        run: Path | str | None = None,
        name: str | None = None,
        fields: Fields | None = None,
    ) -> Collection:
        """From a file each; the formats are recognised by the content (a CSV by its name), and all may be gzip."""
        # a missing or unreadable file, or a wrong field, is refused here, not at the first pass
        notes = formats.fields_said(Path(documents), Path(queries), fields)
        return cls(
            name or Path(documents).name.split(".")[0],
            lambda: formats.read_documents(documents, fields),
            formats.read_queries(queries),
            formats.read_qrels(qrels) if qrels else None,
            formats.read_run(run) if run else None,
            notes=notes,
        )

    @classmethod
    def from_records(
        cls,
        name: str,
        documents: Mapping[str, str] | Iterable[tuple[str, str]],
        queries: Mapping[str, str] | Iterable[tuple[str, str]],
        qrels: Mapping[str, Mapping[str, int]] | None = None,
        first_stage: Run | None = None,
    ) -> Collection:
        """From Python objects: mappings, or pairs such as `Document` and `Query`."""
        held = [Document(*pair) for pair in _unique(name, "document", documents).items()]
        judged = {qid: dict(grades) for qid, grades in (qrels or {}).items()}
        return cls(name, lambda: iter(held), _unique(name, "query", queries), judged, first_stage)

    def documents(self) -> Iterator[Document]:
        """A fresh pass over the documents, one at a time."""
        return self._documents()

    def read_as(self, strip_html: bool = False, language: str = ENGLISH) -> Collection:
        """The same collection, its documents without HTML, its words stemmed as a language has them."""
        other = copy(self)
        other.analyzer = Analyzer.of(language)
        if strip_html:
            other._documents = partial(_without_html, self.name, self._documents)
            other.notes = (*self.notes, "HTML is taken out of the documents before anything reads them")
        return other

    def about(self, queries: Queries, qrels: Qrels) -> Collection:
        """The same documents with other queries and judgements, and no splits."""
        return Collection(
            self.name, self.documents, queries, qrels, self.first_stage, notes=self.notes, language=self.language
        )

    @property
    def language(self) -> str:
        """The language of the stemmer, or `none`."""
        return self.analyzer.stem or NO_STEMS

    @property
    def judgements(self) -> str:
        """Where the judgements are from and how many there are: `qrels/test.tsv (300 queries, 339 judgements)`."""
        return f"{self.judged_by} ({counts(self.qrels, self.qrels)})"

    @property
    def judged_by(self) -> str:
        """The file that the judgements are from, or the collection's name."""
        return self.splits[self.split].source if self.split in self.splits else self.name

    def texts(self, docnos: Iterable[str]) -> dict[str, str]:
        """The texts of these documents, in this order, by one pass that holds only them."""
        wanted: dict[str, str | None] = dict.fromkeys(docnos)
        for docno, text in self.documents() if wanted else ():
            if docno in wanted:
                if wanted[docno] is not None:
                    raise UserError(f"document {docno!r} appears twice", where=self.name, todo="keep one of them")
                wanted[docno] = text
        missing = [docno for docno, text in wanted.items() if text is None]
        if missing:
            raise UserError(
                f"{_some_of(missing)} not in the collection", where=self.name, todo="do the ids match?"
            )
        return {docno: text for docno, text in wanted.items() if text is not None}

    def fingerprint(self) -> str:
        """sha256 of the content, streamed; the name and the files' format play no part."""
        digest = hashlib.sha256()
        for fields in self._content():
            for field in (str(len(fields)), *fields):
                raw = field.encode("utf-8", "surrogatepass")
                digest.update(len(raw).to_bytes(8, "big") + raw)
        return digest.hexdigest()

    def describe(self) -> dict[str, Any]:
        """What there is of each kind, for a manifest or a table; counts the documents by one pass."""
        return {
            "name": self.name,
            "documents": sum(1 for _ in self.documents()),
            "queries": len(self.queries),
            "judged_queries": len(self.qrels),
            "judgements": sum(map(len, self.qrels.values())),
            "first_stage_queries": len(self.first_stage or ()),
        }

    def __repr__(self) -> str:
        stage = f", a first stage for {len(self.first_stage)}" if self.first_stage is not None else ""
        return f"<Collection {self.name}: {len(self.queries)} queries, {len(self.qrels)} judged{stage}>"

    def _own(self, what: str, table: dict[str, T]) -> dict[str, T]:
        """The part of a table that is about this collection's queries, which must be some part of it."""
        own = {qid: rows for qid, rows in table.items() if qid in self.queries}
        if table and not own:
            some = f"such as {next(iter(table))!r}, where the queries have {next(iter(self.queries), None)!r}"
            raise UserError(
                f"none of the {what} is for a query here", where=self.name, todo=f"check the ids, {some}"
            )
        return own

    def _content(self) -> Iterator[tuple[str, ...]]:
        yield from (("document", *document) for document in self.documents())
        yield from (("query", *query) for query in sorted(self.queries.items()))
        for qid, grades in sorted(self.qrels.items()):
            yield from (("grade", qid, docno, str(grade)) for docno, grade in sorted(grades.items()))
        for qid, found in sorted((self.first_stage or {}).items()):
            yield from (("run", qid, row.docno, str(row.rank), repr(float(row.score))) for row in found)
        if self.language != ENGLISH:
            yield "language", self.language


def _without_html(name: str, documents: Callable[[], Iterator[Document]]) -> Iterator[Document]:
    """Texts without tags are as they were."""
    for docno, text in documents():
        plain = without_markup(text) if holds_tags(text) else text
        if not plain:
            raise UserError(f"document {docno!r} holds HTML and no text", where=name, todo="take it out")
        yield Document(docno, plain)


def _unique(name: str, kind: str, records: Mapping[str, str] | Iterable[tuple[str, str]]) -> dict[str, str]:
    """Pairs as a dictionary, refusing an identifier that comes twice and a text that is empty."""
    table: dict[str, str] = {}
    for key, text in records.items() if isinstance(records, Mapping) else records:
        if key in table:
            raise UserError(f"{kind} {key!r} appears twice", where=name, todo="keep one of them")
        if not text.strip():
            raise UserError(f"{kind} {key!r} is empty", where=name, todo="give it a text or take it out")
        table[key] = text
    return table


def _some_of(names: list[str]) -> str:
    """`1 document ('a')` or `12 documents ('a', 'b', ...)`."""
    first = ", ".join(map(repr, names[:NAMED]))
    more = ", ..." if len(names) > NAMED else ""
    return f"{len(names)} document{'s' * (len(names) > 1)} ({first}{more})"
