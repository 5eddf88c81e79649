"""What is learned from, chosen by and tested on: the splits of a collection, or one set of judgements in parts;
and how many queries and judgements each part has.

Test judgements are neither learned from nor chosen by where a collection has others. Where it has one set of
judgements only, its queries are split, and what is used for what is said before anything is trained.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from whyrank.collections.catalogue import open_collection
from whyrank.collections.collection import Collection
from whyrank.collections.formats import read_qrels
from whyrank.collections.records import Qrels
from whyrank.collections.splits import DEV, TEST, TRAIN, JudgedSplit
from whyrank.core.errors import UserError
from whyrank.core.lines import read_lines
from whyrank.learning.splits import Split, given_split, hold_out
from whyrank.pages.numbers import span


@dataclass(frozen=True, eq=False)
class Judged:
    """A collection with all judgements that are used. `test` and `validation` are the queries to test on and to
    choose by where they are given; `sources` says what the parts are from: train, validation and test."""

    collection: Collection
    test: tuple[str, ...] | None = None
    validation: tuple[str, ...] | None = None
    sources: Mapping[str, str] = field(default_factory=dict)

    def split(self, qids: Iterable[str], seed: int, most: int | None, where: str) -> Split:
        """These queries split as the test (and the part to choose by) are given; `most` are learned from."""
        known = list(qids)
        test = [qid for qid in known if qid in set(self.test or ())]
        if self.validation is None:
            others = [qid for qid in known if qid not in set(test)]
            return hold_out(islice(others, most), test, seed, where)
        validation = [qid for qid in known if qid in set(self.validation)]
        train = [qid for qid in known if qid not in {*test, *validation}]
        return given_split(islice(train, most), validation, test, where)

    def source(self, part: str) -> str:
        """Where the judgements of `train`, `validation` or `test` are from."""
        return self.sources.get(part, self.collection.judged_by)


def judged(
    collection: Collection,
    train_qrels: str | None = None,
    test_queries: Path | None = None,
    most: int | None = None,
) -> Judged:
    """The collection for training.

    A folder with several of the splits train, dev and test is learned from, chosen and tested by these; `most`
    takes only the first so many to learn from. With `test_queries`, a file with a query id at the start of each
    line, these are tested on. With `train_qrels`, a qrels file or another collection by name, the queries that the
    collection itself judges are tested on (or those of the file), and the others are learned from as the training
    judgements grade them.
    """
    if not collection.qrels:
        raise UserError("this collection has no judgements", where=collection.name, todo="training needs some")
    if train_qrels is not None:
        return _with_training_judgements(collection, train_qrels, test_queries)
    parts = [collection.splits[name] for name in (TRAIN, DEV, TEST) if name in collection.splits]
    if len(parts) > 1:
        return _by_splits(collection, parts, test_queries, most)
    return Judged(collection, _test_ids(test_queries, collection.qrels, collection.name))


def _by_splits(
    collection: Collection, parts: list[JudgedSplit], test_queries: Path | None, most: int | None
) -> Judged:
    """The first split is learned from, the last tested on; of three, the second chooses, of two a fifth of the
    first. A query that two of them judge belongs to the later one alone."""
    learned, *between, tested = parts
    owner = {qid: part for part in parts for qid in part.qrels}
    graded = {qid: part.qrels[qid] for qid, part in owner.items()}
    test = _test_ids(test_queries, graded, collection.name) or tuple(tested.qrels)
    left = [qid for qid in owner if qid not in set(test)]
    train = list(islice((qid for qid in left if owner[qid] is learned), most))
    validation = tuple(qid for qid in left if owner[qid] in between)
    used = [*train, *validation, *test]
    everything = collection.about(
        {qid: owner[qid].queries[qid] for qid in used}, {qid: graded[qid] for qid in used}
    )
    sources = {
        "train": learned.source,
        "validation": between[0].source if between else f"a fifth of {learned.source}",
        "test": f"the queries of {test_queries}" if test_queries else tested.source,
    }
    return Judged(everything, test, validation if between else None, sources)


def _with_training_judgements(collection: Collection, train_qrels: str, test_queries: Path | None) -> Judged:
    test = _test_ids(test_queries, collection.qrels, collection.name) or tuple(collection.qrels)
    learned = _training_judgements(train_qrels, collection)
    others = {qid: mine for qid, mine in learned.qrels.items() if qid not in set(test) and qid in learned.queries}
    if not others:
        raise UserError(
            "the training judgements are for no query but the test's",
            where=train_qrels,
            todo="give judgements of other queries, whose texts the collection has",
        )
    qrels = {**others, **{qid: collection.qrels[qid] for qid in test}}
    everything = collection.about(learned.queries, qrels)
    sources = {
        "train": learned.source,
        "validation": f"a fifth of {learned.source}",
        "test": f"the queries of {test_queries}" if test_queries else collection.judged_by,
    }
    return Judged(everything, test, sources=sources)


def _training_judgements(name: str, collection: Collection) -> JudgedSplit:
    """The training judgements, with all queries: theirs and the collection's own."""
    if Path(name).expanduser().is_file():
        return JudgedSplit(TRAIN, name, collection.queries, read_qrels(Path(name).expanduser()))
    other = open_collection(name)
    learned = other.splits.get(TRAIN)
    qrels, asked = (learned.qrels, learned.queries) if learned else (other.qrels, other.queries)
    for qid in qrels:
        if (text := asked.get(qid)) is not None and collection.queries.get(qid, text) != text:
            raise UserError(
                f"query {qid!r} has another text than in {collection.name}",
                where=name,
                todo="give the two queries ids of their own: judgements belong to a text",
            )
    _check_documents(qrels, other, collection, name)
    source = f"{name} ({learned.source if learned else other.judged_by})"
    return JudgedSplit(TRAIN, source, {**other.queries, **asked, **collection.queries}, qrels)


def _check_documents(qrels: Qrels, other: Collection, collection: Collection, where: str) -> None:
    """Raises where a document that the one judges has another text in the other."""
    judged_ones = {docno for grades in qrels.values() for docno in grades}
    texts = {docno: hash(text) for docno, text in other.documents() if docno in judged_ones}
    for docno, text in collection.documents():
        if texts.get(docno, hash(text)) != hash(text):
            raise UserError(
                f"document {docno!r} has another text than in {collection.name}",
                where=where,
                todo="give judgements of the same documents",
            )


def _test_ids(path: Path | None, qrels: Qrels, name: str) -> tuple[str, ...] | None:
    if path is None:
        return None
    found = dict.fromkeys(line.text.split()[0] for line in read_lines(path))
    unknown = [qid for qid in found if qid not in qrels]
    if unknown or not found:
        what = f"query {unknown[0]!r} is not judged" if unknown else "there is no query in this file"
        raise UserError(what, where=path, todo=f"give ids of the judged queries of {name}")
    return tuple(found)


#: What each part is for.
USES = {"train": "learned from", "validation": "chosen by", "test": "tested on"}


@dataclass(frozen=True)
class PartUsed:
    """One part of a split: `train`, `validation` or `test`."""

    part: str
    source: str
    queries: int
    judgements: int

    def __str__(self) -> str:
        """`learned from: qrels/train.tsv, 809 queries, 919 judgements`."""
        return f"{USES[self.part]}: {self.source}, {self.queries} queries, {self.judgements} judgements"


@dataclass(frozen=True)
class JudgementsUsed:
    """How the judgements were split, and what each part of each fold has."""

    how: str
    folds: tuple[tuple[PartUsed, ...], ...]

    @classmethod
    def of(cls, judged: Judged, splits: Sequence[Split]) -> JudgementsUsed:
        return cls(_how_split(judged, len(splits)), tuple(_parts_used(judged, split) for split in splits))

    def lines(self) -> list[str]:
        """How they were split; the parts, where there is one split."""
        return [self.how, *(f"  {part}" for part in (self.folds[0] if len(self.folds) == 1 else ()))]

    def text(self) -> str:
        """One paragraph, with the sizes of each part over the folds."""
        parts = []
        for rows in zip(*self.folds, strict=True):
            sizes = f"{span([row.queries for row in rows])} queries, {span([row.judgements for row in rows])}"
            parts.append(f"{USES[rows[0].part]} {rows[0].source}: {sizes} judgements")
        return f"{_capital(self.how)}. {_capital('; '.join(parts))}."


def _parts_used(judged: Judged, split: Split) -> tuple[PartUsed, ...]:
    qrels = judged.collection.qrels
    return tuple(
        PartUsed(part, judged.source(part), len(qids), sum(len(qrels[qid]) for qid in qids))
        for part, qids in split
    )


def _how_split(judged: Judged, folds: int) -> str:
    """One sentence about what is learned from and what is tested on."""
    if judged.test is not None:
        parts = (f"{use} {judged.source(part)}" for part, use in USES.items())
        return f"judgements are {', '.join(parts)}"
    known = judged.collection
    kind = "only test judgements" if known.split == TEST else "one set of judgements"
    how = "split by query: 60% to learn from, 20% to choose by, 20% to test on" if folds == 1 else (
        f"split by query into {folds} folds, each tested by models that learned from others"
    )  # fmt: skip
    return (
        f"{known.name} has {kind} ({known.judged_by}), {how}. A model has learned from queries of this file: "
        "measure it by the test queries of its fold only"
    )


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
