"""What `--collection` takes: a built-in name, a folder, a Tevatron file, or an ir_datasets id."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from whyrank.collections import demo, folder, irds, tevatron, trec_rag
from whyrank.collections.collection import Collection
from whyrank.collections.gather import qrels_table, queries_table
from whyrank.collections.reading import AS_IT_IS, Reading
from whyrank.collections.table import is_csv
from whyrank.core.cached import CachedFolder
from whyrank.core.errors import UserError, nearest
from whyrank.text.words import Analyzer

#: Before an ir_datasets id that a folder or file here is called by, too.
IRDS = "irds:"


@dataclass(frozen=True)
class BuiltIn:
    """A collection known by name: what it is, how it is opened, and its folder in the cache if it has one."""

    name: str
    what: str
    open: Callable[[], Collection]
    cached: Callable[[], CachedFolder] | None = None

    def here(self) -> str:
        """Whether it is on this machine already: yes, no, or damaged."""
        return self.cached().here() if self.cached else "yes"


class Available(NamedTuple):
    """A line of the list of built-in collections."""

    name: str
    what: str
    here: str


BUILT_IN = {
    entry.name: entry
    for entry in (
        BuiltIn("demo", "a small collection that comes with whyrank", demo.open_demo),
        BuiltIn(
            "trec-rag-2024",
            "TREC RAG 2024, 301 topics x 20 passages, NIST judgements of 86 (29 MB to fetch; MS MARCO's terms)",
            lambda: trec_rag.open_judged_by("nist"),
            trec_rag.cached,
        ),
        BuiltIn(
            "trec-rag-2024/umbrela",
            "the same, judged by an LLM (UMBRELA) for all 301 topics",
            lambda: trec_rag.open_judged_by("umbrela"),
            trec_rag.cached,
        ),
    )
}


def open_collection(spec: str | Path, reading: Reading = AS_IT_IS) -> Collection:
    """The collection that `spec` names, read as `reading` says.

    A built-in name (`available()`), a folder (BEIR's layout or documents.*, queries.*, qrels.*; `FOLDER#dev`
    takes that split's judgements), a Tevatron JSON lines file, or an ir_datasets id (`vaswani`, or `irds:vaswani`
    where a folder here has that name).
    """
    Analyzer.of(reading.language)  # an unknown language is refused before anything is read
    name, given = str(spec), reading.fields.given()
    path, split = _path_and_split(name)
    if name not in BUILT_IN and not name.startswith(IRDS) and path.is_dir():
        found = folder.open_folder(path, split, reading.fields)
    elif given:
        todo = "name fields of a folder with documents as a CSV or TSV with a header, or as JSON lines"
        raise UserError(f"no field '{given[0]}' can be chosen here", where=name, todo=todo)
    else:
        found = _with_its_own_fields(name, path)
    return found if reading == AS_IT_IS else found.read_as(reading.strip_html, reading.language)


def _with_its_own_fields(name: str, path: Path) -> Collection:
    if name in BUILT_IN:
        return BUILT_IN[name].open()
    if name.startswith(IRDS):
        return irds.open_dataset(name.removeprefix(IRDS))
    return open_tevatron(path) if path.is_file() else _not_on_disk(name)


def open_tevatron(path: Path) -> Collection:
    """The collection in a Tevatron file: its queries, its passages, and their grades 1 and 0."""
    if is_csv(path):
        todo = "put it into a folder as documents.csv, with queries.csv beside it, and give the folder"
        raise UserError("a table is not a collection by itself", where=path, todo=todo)
    if not tevatron.is_tevatron(path):
        todo = "give a Tevatron file, or the folder that holds documents.*, queries.* and qrels.*"
        raise UserError("not a collection by itself (no 'positive_passages')", where=path, todo=todo)
    queries, qrels = queries_table(tevatron.queries(path)), qrels_table(tevatron.qrels(path))
    return Collection(
        path.name.split(".")[0], lambda: (row for _, row in tevatron.documents(path)), queries, qrels
    )


def available() -> list[Available]:
    """The built-in collections, and whether each is on this machine already: yes, no, or damaged."""
    return [Available(entry.name, entry.what, entry.here()) for entry in BUILT_IN.values()]


def fetch(name: str) -> Collection:
    """Makes sure that a built-in collection is on this machine, whole (else it is made anew), and opens it."""
    if name not in BUILT_IN:
        raise UserError(f"no built-in collection {name!r}", todo=nearest(name, BUILT_IN))
    entry = BUILT_IN[name]
    if entry.cached:
        entry.cached().get()
    return entry.open()


def _path_and_split(name: str) -> tuple[Path, str | None]:
    """`FOLDER#dev` -> the folder and `dev`, unless the whole name is a path that exists."""
    before, mark, split = name.rpartition("#")
    path = Path(name).expanduser()
    return (Path(before).expanduser(), split) if mark and not path.exists() else (path, None)


def _not_on_disk(name: str) -> Collection:
    looks_like_id = (
        "/" in name and not name.startswith(("/", ".", "~")) and not name.endswith((".jsonl", ".gz", "/"))
    )
    close = nearest(name, BUILT_IN)
    if irds.is_known(name):
        return irds.open_dataset(name)
    if looks_like_id and not close.startswith("did you mean"):
        return irds.open_dataset(name)
    todo = f"{close}; a folder or a Tevatron file also serves, or an ir_datasets id (vaswani, or {IRDS}vaswani)"
    raise UserError(f"no collection {name!r}: no built-in name, no such file or folder", todo=todo)
