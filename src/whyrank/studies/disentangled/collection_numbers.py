"""Table 1: what the collection is like."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import fmean, median, pstdev
from typing import Any

from whyrank.learning.material import Material
from whyrank.learning.splits import Split
from whyrank.learning.training.judgements import Judged
from whyrank.text.words import words


def collection_numbers(what: Judged, material: Material, splits: Sequence[Split], depth: int) -> dict[str, Any]:
    """Counts, and means over documents or over the queries that are used, with their spread."""
    used = list(dict.fromkeys(qid for split in splits for _, qids in split for qid in qids))
    tested = list(dict.fromkeys(qid for split in splits for qid in split.test))
    counts = [len(words(text)) for _, text in what.collection.documents()]
    rows = [
        _row("words a query", (len(words(material.queries[qid])) for qid in used), "queries"),
        _row("words a document", counts, "documents"),
    ]
    for name, qids in (("all queries used", used), ("test queries", tested)):
        rows += [
            _row(f"judged documents, {name}", (len(material.qrels[qid]) for qid in qids), "queries"),
            _row(f"relevant documents, {name}", (_relevant(material, qid) for qid in qids), "queries"),
            _row(f"relevant in the first {depth}, {name}", (_reached(material, qid) for qid in qids), "queries"),
        ]
    return {
        "documents": len(counts), "queries": len(used), "test_queries": len(tested),
        "fixed_test": what.test is not None, "rows": rows,
    }  # fmt: skip


def _row(what: str, values: Iterable[float], of: str) -> dict[str, Any]:
    """The mean, median and standard deviation of some counts."""
    known = [float(value) for value in values]
    return {
        "what": what, "mean": fmean(known), "median": median(known), "spread": pstdev(known), "n": len(known),
        "of": of,
    }  # fmt: skip


def _relevant(material: Material, qid: str) -> int:
    """All that are judged relevant, also those that the collection lacks."""
    return sum(grade > 0 for grade in material.qrels[qid].values())


def _reached(material: Material, qid: str) -> int:
    return sum(material.grade(qid, row.docno) > 0 for row in material.candidates[qid])
