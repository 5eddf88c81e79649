"""What a verb is given, opened: a collection or its name, a run or its file."""

from __future__ import annotations

from pathlib import Path

from whyrank.collections.bm25 import first_stage
from whyrank.collections.catalogue import open_collection
from whyrank.collections.collection import Collection
from whyrank.collections.formats import first_line, read_qrels, read_run
from whyrank.collections.records import Qrels, Run
from whyrank.core.caller import SILENT, Caller
from whyrank.core.errors import UserError

#: A TREC run in the run folder of `rank`.
RUN_FILE = "run.trec"


def collection(name: Collection | str) -> Collection:
    """Opens a collection: a BEIR, TREC, TSV or JSONL folder or file, a built-in name (`demo`), an ir_datasets id.

    Of a folder with splits its test queries are taken; `NAME#train` names others.
    """
    return collection_of(name)


def collection_of(given: Collection | str, caller: Caller = SILENT) -> Collection:
    """The collection; of a folder with splits, its test queries (`NAME#train` names others), and that is said."""
    if isinstance(given, Collection):
        return given
    collection = open_collection(given)
    others = [split for split in collection.splits if split != collection.split]
    if others:
        more = " or ".join(f"{given}#{split}" for split in others)
        caller.say(
            f"queries: {len(collection.queries)}, of the split {collection.split} or not judged; others: {more}"
        )
    elif collection.split:
        caller.say(f"queries: {len(collection.queries)}, of the split {collection.split}")
    return collection


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
