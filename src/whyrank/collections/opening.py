"""What a verb is given, opened: a collection or its name, a run or its file."""

from __future__ import annotations

from pathlib import Path

from whyrank.collections.bm25 import first_stage
from whyrank.collections.catalogue import open_collection
from whyrank.collections.collection import Collection
from whyrank.collections.fields import Fields
from whyrank.collections.formats import first_line, read_qrels, read_run
from whyrank.collections.reading import AS_IT_IS, Reading
from whyrank.collections.records import Qrels, Retrieved, Run
from whyrank.core.caller import SILENT, Caller
from whyrank.core.errors import UserError
from whyrank.text.words import ENGLISH

#: A TREC run in the run folder of `rank`.
RUN_FILE = "run.trec"
#: Candidates that are made here: BM25's best, or every document.
FIRST_STAGES = ("bm25", "all")
#: Pairs of a query and a document that `all` may make.
MOST_PAIRS = 100_000


def collection(
    name: Collection | str, *, fields: Fields | None = None, strip_html: bool = False, language: str = ENGLISH
) -> Collection:
    """Opens a collection: a BEIR, TREC, CSV, TSV or JSONL folder, a built-in name (`demo`), an ir_datasets id.

    Of a folder with splits its test queries are taken; `NAME#train` names others. `fields`: where the documents'
    ids, titles and texts are, `Fields(id="key", text="body")`; otherwise guessed by name, as `notes` say.
    `strip_html`: HTML is taken out of the documents. `language`: whose stems BM25 counts, `none` for whole words.
    """
    if isinstance(name, Collection) and fields is not None:
        raise UserError("fields are for a collection that is opened here", where=name.name, todo="give its folder")
    reading = Reading(fields or Fields(), strip_html, language)
    return (
        name.read_as(strip_html, language)
        if isinstance(name, Collection)
        else collection_of(name, reading=reading)
    )


def collection_of(given: Collection | str, caller: Caller = SILENT, reading: Reading = AS_IT_IS) -> Collection:
    """The collection; of a folder with splits, its test queries (`NAME#train` names others), and that is said, as
    is what of its files is read."""
    if isinstance(given, Collection):
        return given
    collection = open_collection(given, reading)
    say_notes(collection, caller)
    others = [split for split in collection.splits if split != collection.split]
    if others:
        more = " or ".join(f"{given}#{split}" for split in others)
        caller.say(
            f"queries: {len(collection.queries)}, of the split {collection.split} or not judged; others: {more}"
        )
    elif collection.split:
        caller.say(f"queries: {len(collection.queries)}, of the split {collection.split}")
    return collection


def say_notes(collection: Collection, caller: Caller) -> None:
    """Says how the files of a collection were read."""
    for note in collection.notes:
        caller.say(note)


def run_of(given: Run | Path | str) -> Run:
    """The run, also from a TREC file or a run folder."""
    if not isinstance(given, Path | str):
        return given
    path = Path(given)
    return read_run(path / RUN_FILE if path.is_dir() else path)


def first_stage_of(collection: Collection, run: Run | Path | str | None, depth: int) -> tuple[Run, str]:
    """The candidates, and what to call them: the user's run, or else BM25's best `depth`."""
    if run is not None:
        return run_of(run), str(run) if isinstance(run, Path | str) else "the given run"
    if not collection.queries:
        raise UserError("there are no queries", where=collection.name, todo="a collection to rank has queries")
    return first_stage(collection, depth), f"BM25's top {depth}"


def all_documents(collection: Collection, queries: int | None = None, most: int = MOST_PAIRS) -> Run:
    """Every document as a candidate of each of the first queries, in the collection's order, without a score."""
    qids = list(collection.queries)[:queries]
    docnos = [docno for docno, _ in collection.documents()]
    if len(qids) * len(docnos) > most:
        what = f"{len(qids)} queries x {len(docnos)} documents are {len(qids) * len(docnos)} pairs to score"
        todo = f"raise max_pairs above {most}, take fewer queries, or take BM25's best (first_stage bm25)"
        raise UserError(what, where=collection.name, todo=todo)
    return {
        qid: [Retrieved(qid, docno, rank, 0.0, "all") for rank, docno in enumerate(docnos, start=1)]
        for qid in qids
    }


def qrels_of(given: Qrels | Collection | Path | str) -> tuple[Qrels, str]:
    """The judgements, and where they are from: a qrels file, or a collection's (of its split test, where it has
    one)."""
    if not isinstance(given, Path | str | Collection):
        return given, "the given judgements"
    if not isinstance(given, Collection):
        path = Path(given)
        if path.exists() and not path.is_dir() and not _holds_json(path):
            return read_qrels(path), str(given)
    collection = given if isinstance(given, Collection) else open_collection(str(given))
    if not collection.qrels:
        raise UserError("this collection has no judgements", where=collection.name, todo="give a qrels file")
    name = collection.name if isinstance(given, Collection) else given
    return collection.qrels, f"{collection.judged_by} of {name}" if collection.splits else str(name)


def _holds_json(path: Path) -> bool:
    """A file of JSON lines is a collection (Tevatron's form), not judgements."""
    return path.is_file() and first_line(path).text.lstrip().startswith("{")
