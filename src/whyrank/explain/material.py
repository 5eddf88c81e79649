"""What an explanation is about: a query and documents, from texts, files, ids, hits or a run.

A document is named by its id among the candidates or in the collection, by a text file, or is the text itself.
No text is changed: markup is read as the ranker would read it, unless it is asked to be stripped; that is said.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from whyrank.collections.collection import Collection
from whyrank.collections.hits import Fields, Hits, hits_of, read_hits
from whyrank.collections.opening import run_of
from whyrank.collections.records import Run
from whyrank.core.caller import SILENT, Caller
from whyrank.core.errors import UserError, nearest, quoted
from whyrank.explain.sentences import named
from whyrank.text.markup import count_tags, without_markup
from whyrank.text.words import word_spans

#: Longer than this, a text is not looked up as a file's name.
LONGEST_NAME = 255


@dataclass(frozen=True)
class Candidate:
    """A document: its id where it has one, its text, and its place in the list it is from."""

    docid: str | None
    text: str
    rank: int | None = None

    @property
    def name(self) -> str:
        return named(self.docid)


@dataclass(frozen=True)
class Sources:
    """Where documents can be named from: candidates (hits, a run, texts), a collection, files."""

    candidates: tuple[Candidate, ...] = ()
    collection: Collection | None = field(default=None, compare=False)
    strip: bool = False
    caller: Caller = SILENT

    def document(self, given: str | Path) -> Candidate:
        """The document of this id, in this file, or with this text."""
        return self._read(self._found(given))

    def texts(self) -> tuple[Candidate, ...]:
        """All candidates, as they are read."""
        return tuple(map(self._read, self.candidates))

    def _found(self, given: str | Path) -> Candidate:
        by_id = {one.docid: one for one in self.candidates}
        name = str(given)
        if name in by_id:
            return by_id[name]
        if isinstance(given, Path) or _is_file(name):
            return Candidate(Path(given).name, _file_text(Path(given)))
        looks_like_id = len(name.split()) == 1
        if looks_like_id and self.collection is not None:
            return Candidate(name, self.collection.texts([name])[name])
        if looks_like_id and self.candidates:
            raise UserError(f"no candidate has the id {quoted(name)}", todo=nearest(name, map(str, by_id)))
        if looks_like_id:
            self.caller.say(f"{quoted(name)} is no file and there is no collection: it is taken as the text")
        same = (one for one in self.candidates if one.text == name)
        return next(same, Candidate(None, name))

    def _read(self, one: Candidate) -> Candidate:
        """Checked, and without its markup where that is asked for."""
        tags = count_tags(one.text)
        if tags and self.strip:
            self.caller.say(f"{one.name}: {tags} HTML tags were taken out")
            one = replace(one, text=without_markup(one.text))
        elif tags:
            self.caller.say(
                f"{one.name} holds {tags} HTML tags, which the ranker reads; strip_html takes them out"
            )
        if not word_spans(one.text):
            raise UserError(f"{one.name} has no word", todo="give a document with words")
        return one


@dataclass(frozen=True)
class Asked:
    """The query, and where its documents are from."""

    query: str
    sources: Sources


def asked(
    query: str | None,
    *,
    documents: Sequence[str] = (),
    hits: Hits | Path | str | list[object] | dict[str, object] | None = None,
    fields: Fields | None = None,
    run: Run | Path | str | None = None,
    collection: Collection | None = None,
    strip_html: bool = False,
    caller: Caller = SILENT,
) -> Asked:
    """The query's text (a collection's query may be named by its id; hits may bring theirs), and the sources."""
    read = None if hits is None else _hits(hits, fields)
    if read is not None and str(read.fields):
        caller.say(f"hits: {read.fields}")
    text = _query_text(query, read, collection)
    candidates = tuple(Candidate(str(i), one, i + 1) for i, one in enumerate(documents))
    if read is not None:
        candidates = tuple(Candidate(one.docid, one.text, i) for i, one in enumerate(read.documents, start=1))
    elif run is not None:
        candidates = _of_run(run_of(run), query, text, collection)
    return Asked(text, Sources(candidates, collection, strip_html, caller))


def _hits(given: Hits | Path | str | list[object] | dict[str, object], fields: Fields | None) -> Hits:
    if isinstance(given, Hits):
        return given
    return read_hits(given, fields) if isinstance(given, Path | str) else hits_of(given, fields)


def _query_text(query: str | None, hits: Hits | None, collection: Collection | None) -> str:
    found = query if query is not None else hits.query if hits is not None else None
    if found is None:
        raise UserError("there is no query", todo="give query, or hits that name theirs")
    if collection is not None and found in collection.queries:
        found = collection.queries[found]
    if not word_spans(found):
        raise UserError(f"the query {quoted(found)} has no word", todo="give a query with words")
    return found


def _of_run(run: Run, query: str | None, text: str, collection: Collection | None) -> tuple[Candidate, ...]:
    """The candidates of the query in a run; their texts are the collection's."""
    if collection is None:
        raise UserError("a run has no texts", todo="give the collection that its documents are from")
    of_text = [qid for qid, other in collection.queries.items() if other == text and qid in run]
    qid = query if query in run else of_text[0] if of_text else None
    if qid is None:
        raise UserError(f"the run has no query {quoted(text)}", todo="give the id of one of its queries")
    rows = run[qid]
    texts = collection.texts(dict.fromkeys(row.docno for row in rows))
    return tuple(Candidate(row.docno, texts[row.docno], row.rank) for row in rows)


def _is_file(name: str) -> bool:
    try:
        return len(name) <= LONGEST_NAME and "\n" not in name and Path(name).is_file()
    except (OSError, ValueError):
        return False


def _file_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise UserError(f"not UTF-8 text (byte {error.start})", where=path, todo="save it as UTF-8") from error
    except OSError as error:
        raise UserError(error.strerror or "cannot be read", where=path, todo="check the name") from error
