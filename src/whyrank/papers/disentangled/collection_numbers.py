"""Table 1: what the collection is like."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from statistics import fmean, median, pstdev
from typing import Any

from whyrank.learning.judgements import Judged
from whyrank.learning.material import Material, Values
from whyrank.learning.splits import Split
from whyrank.text.words import words


def collection_numbers(
    what: Judged, material: Material, splits: Sequence[Split], depth: int, references: Mapping[str, Values]
) -> dict[str, Any]:
    """Counts, and means over documents or over the queries that are used, with their spread; and the measures of
    orders of the test queries' candidates that are no ranker's, by name."""
    used = list(dict.fromkeys(qid for split in splits for _, qids in split for qid in qids))
    tested = list(dict.fromkeys(qid for split in splits for qid in split.test))
    counts = {docno: len(words(text)) for docno, text in what.collection.documents()}
    rows = [
        _row("words a query", (len(words(material.queries[qid])) for qid in used)),
        _row("words a document", counts.values(), "documents"),
    ]
    for name, qids in (("all queries used", used), ("test queries", tested)):
        rows += [
            _row(f"judged documents, {name}", (len(material.qrels[qid]) for qid in qids)),
            _row(f"relevant documents, {name}", (_relevant(material, qid) for qid in qids)),
            _row(f"relevant, but not in the collection, {name}", (_absent(material, qid, counts) for qid in qids)),
            _row(f"judged in the first {depth}, {name}", (_judged(material, qid) for qid in qids)),
            _row(f"relevant in the first {depth}, {name}", (_reached(material, qid) for qid in qids)),
        ]
    for order, found in references.items():
        for measure, values in found.items():
            rows.append({**_row(f"{order} {measure}, test queries", values.values()), "digits": 4})
    return {
        "documents": len(counts), "queries": len(used), "test_queries": len(tested),
        "fixed_test": what.test is not None, "rows": rows,
    }  # fmt: skip


def _row(what: str, values: Iterable[float], of: str = "queries") -> dict[str, Any]:
    """The mean, median and standard deviation of some counts."""
    known = [float(value) for value in values]
    return {
        "what": what, "mean": fmean(known), "median": median(known), "spread": pstdev(known), "n": len(known),
        "of": of, "digits": 1,
    }  # fmt: skip


def _relevant(material: Material, qid: str) -> int:
    """All that are judged relevant, also those that the collection lacks."""
    return sum(grade > 0 for grade in material.qrels[qid].values())


def _absent(material: Material, qid: str, there: Container[str]) -> int:
    return sum(grade > 0 and docno not in there for docno, grade in material.qrels[qid].items())


def _judged(material: Material, qid: str) -> int:
    return sum(row.docno in material.qrels[qid] for row in material.candidates[qid])


def _reached(material: Material, qid: str) -> int:
    return sum(material.grade(qid, row.docno) > 0 for row in material.candidates[qid])
