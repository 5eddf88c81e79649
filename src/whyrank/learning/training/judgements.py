"""What is judged by whom: one set of judgements in folds, or training judgements beside the test's own."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from whyrank.collections.catalogue import open_collection
from whyrank.collections.collection import Collection
from whyrank.collections.formats import read_qrels
from whyrank.collections.records import Qrels, Queries
from whyrank.errors import UserError
from whyrank.store.lines import read_lines


@dataclass(frozen=True, eq=False)
class Judged:
    """A collection with all judgements that are used, and the queries to test on where they are given."""

    collection: Collection
    test: tuple[str, ...] | None = None


def judged(collection: Collection, train_qrels: str | None = None, test_queries: Path | None = None) -> Judged:
    """The collection for training.

    With `test_queries`, a file with a query id at the start of each line, these are tested on. With `train_qrels`,
    a qrels file or another collection by name, the queries that the collection itself judges are tested on (or
    those of the file), and the others are learned from as the training judgements grade them.
    """
    if not collection.qrels:
        raise UserError("this collection has no judgements", where=collection.name, todo="training needs some")
    test = None if test_queries is None else _test_ids(test_queries, collection)
    if train_qrels is None:
        return Judged(collection, test)
    test = test or tuple(collection.qrels)
    queries, grades = _training_judgements(train_qrels, collection)
    others = {qid: mine for qid, mine in grades.items() if qid not in set(test) and qid in queries}
    if not others:
        raise UserError(
            "the training judgements are for no query but the test's",
            where=train_qrels,
            todo="give judgements of other queries, whose texts the collection has",
        )
    qrels = {**others, **{qid: collection.qrels[qid] for qid in test}}
    everything = Collection(collection.name, collection.documents, queries, qrels, collection.first_stage)
    return Judged(everything, test)


def _training_judgements(name: str, collection: Collection) -> tuple[Queries, Qrels]:
    """All queries, the collection's own and those of the training judgements, and the latter."""
    if Path(name).expanduser().is_file():
        return collection.queries, read_qrels(Path(name).expanduser())
    other = open_collection(name)
    for qid in other.qrels:
        if (text := other.queries.get(qid)) is not None and collection.queries.get(qid, text) != text:
            raise UserError(
                f"query {qid!r} has another text than in {collection.name}",
                where=name,
                todo="give the two queries ids of their own: judgements belong to a text",
            )
    _check_documents(other, collection, name)
    return {**other.queries, **collection.queries}, other.qrels


def _check_documents(other: Collection, collection: Collection, where: str) -> None:
    """Raises where a document that the one judges has another text in the other."""
    judged_ones = {docno for grades in other.qrels.values() for docno in grades}
    texts = {docno: hash(text) for docno, text in other.documents() if docno in judged_ones}
    for docno, text in collection.documents():
        if texts.get(docno, hash(text)) != hash(text):
            raise UserError(
                f"document {docno!r} has another text than in {collection.name}",
                where=where,
                todo="give judgements of the same documents",
            )


def _test_ids(path: Path, collection: Collection) -> tuple[str, ...]:
    found = dict.fromkeys(line.text.split()[0] for line in read_lines(path))
    unknown = [qid for qid in found if qid not in collection.qrels]
    if unknown or not found:
        what = f"query {unknown[0]!r} is not judged" if unknown else "there is no query in this file"
        raise UserError(what, where=path, todo=f"give ids of the judged queries of {collection.name}")
    return tuple(found)
