"""What `whyrank demo` shows of a ranker on a judged collection: it against BM25, why one document is first, why
a relevant one is not, and the one dial that would change their places."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from whyrank.collections.bm25 import first_stage
from whyrank.collections.collection import Collection
from whyrank.collections.records import Qrels, Retrieved, Run
from whyrank.core.caller import SILENT, Caller
from whyrank.evaluation.evaluate import evaluate
from whyrank.evaluation.results import Evaluation
from whyrank.explain.api import explain
from whyrank.explain.explanation import Explanation
from whyrank.rankers.ranker import Ranker
from whyrank.rankers.rerank import rerank

MEASURES = ("nDCG@10", "P@5")
#: Texts to score for each of the two explanations, at most.
BUDGET = 250
#: Why is a relevant document not among so many?
TOP = 1


@dataclass(frozen=True)
class FirstLook:
    """Both rankings and their measures; the document that the ranker lifted most to the first place against the
    one below it; and a relevant document of the same query that is not on top, if there is one."""

    runs: dict[str, Run]
    measured: Evaluation
    lifted_from: int
    first: Explanation
    missed: Explanation | None


def first_look(ranker: Ranker, name: str, collection: Collection, caller: Caller = SILENT) -> FirstLook:
    """Ranks BM25's candidates, and explains two documents of the query where that changed most."""
    bm25 = first_stage(collection, k=100)
    with caller.progress("re-ranking BM25", sum(map(len, bm25.values())), "pairs") as advance:
        neural = rerank(ranker, collection, bm25, progress=advance).run
    runs = {"bm25": bm25, name: neural}
    best, before = most_lifted(bm25, neural, collection.qrels)
    why = partial(explain, ranker, best.qid, collection=collection, run=neural, budget=BUDGET, caller=caller)
    other = not_on_top(neural[best.qid], collection.qrels.get(best.qid, {}))
    first = why(best.docno, versus=neural[best.qid][1].docno)
    missed = None if other is None else why(other, top=TOP)
    return FirstLook(runs, evaluate(runs, collection.qrels, list(MEASURES)), before, first, missed)


def most_lifted(before: Run, after: Run, qrels: Qrels) -> tuple[Retrieved, int]:
    """The relevant document that came from furthest down to the first place, and the rank it had."""
    ranks = {(row.qid, row.docno): row.rank for rows in before.values() for row in rows}
    firsts = [rows[0] for rows in after.values()]
    relevant = [row for row in firsts if qrels.get(row.qid, {}).get(row.docno, 0) > 1] or firsts
    best = max(relevant, key=lambda row: ranks[row.qid, row.docno])
    return best, ranks[best.qid, best.docno]


def not_on_top(rows: list[Retrieved], grades: dict[str, int]) -> str | None:
    """The relevant document furthest from the top, the most relevant first: those that are no candidates at all
    are furthest."""
    ranks = {row.docno: row.rank for row in rows}
    others = [docno for docno, grade in grades.items() if grade > 0 and ranks.get(docno) != 1]
    return max(others, key=lambda docno: (grades[docno], ranks.get(docno, len(rows) + 1)), default=None)
