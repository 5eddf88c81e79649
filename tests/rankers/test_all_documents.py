"""Every document as a candidate: of small collections, and only of them unless it is asked for."""

import pytest

from whyrank.collections.collection import Collection
from whyrank.collections.opening import all_documents
from whyrank.core.errors import UserError
from whyrank.rankers.api import rank

DOCUMENTS = {"d1": "a cat sat", "d2": "two dogs", "d3": "a bird and a cat"}
COLLECTION = Collection.from_records("small", DOCUMENTS, {"q1": "cat", "q2": "snake", "q3": "dogs"})


def test_every_document_is_scored_also_where_no_word_matches() -> None:
    found = rank("bm25", COLLECTION, first_stage="all")
    assert [(row.qid, row.docno) for row in sorted(found.rows)] == [
        (q, d) for q in COLLECTION.queries for d in DOCUMENTS
    ]
    assert [row.docno for row in found.run["q1"]] == ["d1", "d3", "d2"]
    assert [row.docno for row in found.run["q2"]] == ["d1", "d2", "d3"]  # equal scores: the collection's order
    assert (found.pairs, found.candidates, found.without_candidates) == (9, "all documents", 0)
    best = rank("bm25", COLLECTION)
    scored = {(row.qid, row.docno): row.score for row in found.rows}
    assert all(scored[row.qid, row.docno] == row.score for row in best.rows)


def test_too_many_pairs_are_refused_unless_asked_for() -> None:
    with pytest.raises(UserError, match=r"small: 3 queries x 3 documents are 9 pairs to score; .*max_pairs"):
        rank("bm25", COLLECTION, first_stage="all", max_pairs=8)
    assert rank("bm25", COLLECTION, first_stage="all", max_pairs=9).pairs == 9
    assert rank("bm25", COLLECTION, first_stage="all", max_pairs=8, queries=2).pairs == 6


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"first_stage": "some"}, "unknown first stage 'some'; choose bm25 or all"),
        ({"first_stage": "all", "depth": 10}, "no use for a depth"),
        ({"first_stage": "all", "run": all_documents(COLLECTION)}, "no use for a run"),
        ({"first_stage": "all", "max_pairs": 0}, "max_pairs cannot be 0"),
    ],
)
def test_what_does_not_go_together_is_refused(arguments, says) -> None:
    with pytest.raises(UserError, match=says):
        rank("bm25", COLLECTION, **arguments)
