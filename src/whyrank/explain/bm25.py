"""BM25 beside a neural ranker: its own account of the same pair, and where it would put the document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

from whyrank.collections.collection import Collection
from whyrank.explain.account import Mechanism
from whyrank.explain.explained import Explained
from whyrank.explain.explanation import StageRank
from whyrank.explain.material import Candidate
from whyrank.explain.mechanism import lexical_account
from whyrank.rankers.lexical import Lexical

#: Documents of a collection whose words are counted for one explanation, at most.
MOST_COUNTED = 200_000


def bm25_over(collection: Collection | None, candidates: Sequence[Candidate]) -> Lexical | None:
    """BM25 with the words of the collection, unless that is very large; else with those of the candidates. None
    where there is neither a collection nor more than one candidate."""
    if collection is not None and sum(1 for _ in islice(collection.documents(), MOST_COUNTED + 1)) <= MOST_COUNTED:
        return Lexical.over(collection)
    if len(candidates) < 2:
        return None
    texts = {str(number): one.text for number, one in enumerate(candidates)}
    return Lexical.over(Collection.from_records(f"the {len(candidates)} candidates", texts, {}))


def bm25_account(bm25: Lexical, explained: Explained) -> Mechanism:
    """What each term adds, and where the words were counted."""
    how = lexical_account(bm25, explained)
    return replace(how, note=f"{how.note} Words are counted in {bm25.index.name}.")


def stage_rank(bm25: Lexical, query: str, docid: str | None) -> StageRank | None:
    """Where BM25 puts a document among all that it counted; None for a document that it does not know."""
    if docid is None or docid not in bm25.index.docnos:
        return None
    ranked = [name for name, _ in bm25.index.search(query, len(bm25.index))]
    rank = ranked.index(docid) + 1 if docid in ranked else None
    return StageRank("BM25", rank, len(bm25.index))
