"""What a collection promises, whatever it was made from."""

from __future__ import annotations

from pathlib import Path

import pytest

from whyrank.collections import Collection, Document, Retrieved
from whyrank.core.errors import UserError

DOCUMENTS = {"d1": "one", "d2": "two", "d3": "three"}
QUERIES = {"q1": "first", "q2": "second"}
QRELS = {"q1": {"d1": 1, "unseen": 2}}


def tiny() -> Collection:
    return Collection.from_records("tiny", DOCUMENTS, QUERIES, QRELS)


def test_documents_can_be_passed_over_again_and_again() -> None:
    collection = tiny()
    assert (
        list(collection.documents()) == list(collection.documents()) == [*map(Document._make, DOCUMENTS.items())]
    )


def test_texts_come_in_the_order_they_were_asked_for() -> None:
    assert list(tiny().texts(["d3", "d1", "d3"]).items()) == [("d3", "three"), ("d1", "one")]
    assert tiny().texts([]) == {}


def test_texts_names_the_first_few_that_are_missing_and_how_many() -> None:
    with pytest.raises(UserError, match=r"7 documents \('x0', 'x1', 'x2', 'x3', 'x4', \.\.\.\) not in the coll"):
        tiny().texts(["d1", *(f"x{i}" for i in range(7))])


def test_texts_refuses_a_document_that_comes_twice(tmp_path: Path) -> None:
    (tmp_path / "docs.tsv").write_text("d1\tone\nd1\tother\n")
    (tmp_path / "queries.tsv").write_text("q1\tfirst\n")
    collection = Collection.from_files(tmp_path / "docs.tsv", tmp_path / "queries.tsv")
    with pytest.raises(UserError, match="document 'd1' appears twice"):
        collection.texts(["d1"])


def test_the_fingerprint_is_of_the_content_and_not_of_the_files(tmp_path: Path) -> None:
    (tmp_path / "docs.tsv").write_text("".join(f"{d}\t{t}\n" for d, t in DOCUMENTS.items()))
    (tmp_path / "queries.jsonl").write_text('{"_id": "q2", "text": "second"}\n{"_id": "q1", "text": "first"}\n')
    (tmp_path / "qrels.txt").write_text("q1 0 unseen 2\nq1 0 d1 1\n")
    files = [tmp_path / name for name in ("docs.tsv", "queries.jsonl", "qrels.txt")]
    assert Collection.from_files(*files).fingerprint() == tiny().fingerprint()


def test_the_fingerprint_changes_with_any_part() -> None:
    run = {"q1": [Retrieved("q1", "d1", 1, 2.0, "t")]}
    prints = {
        tiny().fingerprint(),
        Collection.from_records("x", {**DOCUMENTS, "d3": "other"}, QUERIES, QRELS).fingerprint(),
        Collection.from_records("x", {"d1": "one", "d2": "twod3", "": "three"}, QUERIES, QRELS).fingerprint(),
        Collection.from_records("x", DOCUMENTS, {"q1": "first", "q2": "2nd"}, QRELS).fingerprint(),
        Collection.from_records("x", DOCUMENTS, QUERIES, {"q1": {"d1": 0, "unseen": 2}}).fingerprint(),
        Collection.from_records("x", DOCUMENTS, QUERIES, QRELS, run).fingerprint(),
    }
    assert len(prints) == 6


def test_it_describes_itself() -> None:
    assert repr(tiny()) == "<Collection tiny: 2 queries, 1 judged>"
    assert tiny().describe() == {
        "name": "tiny",
        "documents": 3,
        "queries": 2,
        "judged_queries": 1,
        "judgements": 2,
        "first_stage_queries": 0,
    }


def test_judgements_and_runs_keep_only_its_own_queries() -> None:
    run = {qid: [Retrieved(qid, "d1", 1, 1.0, "t")] for qid in ("q2", "q9")}
    collection = Collection.from_records("c", DOCUMENTS, QUERIES, {**QRELS, "q9": {"d1": 1}}, run)
    assert collection.qrels == QRELS
    assert list(collection.first_stage or ()) == ["q2"]


def test_judgements_for_none_of_its_queries_are_refused() -> None:
    with pytest.raises(UserError, match=r"none of the judgements is for a query here.*'9'.*'q1'"):
        Collection.from_records("c", DOCUMENTS, QUERIES, {"9": {"d1": 1}})


@pytest.mark.parametrize(
    ("documents", "queries", "what"),
    [
        ([("d", "x"), ("d", "y")], QUERIES, "document 'd' appears twice"),
        ([("d", " ")], QUERIES, "document 'd' is empty"),
        (DOCUMENTS, [("q", "x"), ("q", "x")], "query 'q' appears twice"),
        (DOCUMENTS, {"q": ""}, "query 'q' is empty"),
    ],
)
def test_records_are_checked_like_files(documents: object, queries: object, what: str) -> None:
    with pytest.raises(UserError, match=what):
        Collection.from_records("c", documents, queries)  # type: ignore[arg-type]
