"""BM25 against the formula, written out again here."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whyrank.collections import BM25Index, Collection, Document, first_stage
from whyrank.core.errors import UserError
from whyrank.text import Analyzer

DOCUMENTS = {
    "d1": "the quick brown fox jumps over the lazy dog",
    "d2": "a fox, a fox, my kingdom for a fox",
    "d3": "dogs and foxes running",
    "d4": "nothing of that kind",
    "d5": "!!!",
}


def brute_force(texts: dict[str, list[str]], query: list[str], docno: str, k1: float, b: float) -> float:
    average = sum(len(terms) for terms in texts.values()) / len(texts)
    total = 0.0
    for term in query:
        df = sum(term in terms for terms in texts.values())
        tf = texts[docno].count(term)
        idf = math.log(1 + (len(texts) - df + 0.5) / (df + 0.5))
        total += idf * tf / (tf + k1 * (1 - b + b * len(texts[docno]) / average)) if tf else 0.0
    return total


def index(**options: float) -> BM25Index:
    return BM25Index([Document(*pair) for pair in DOCUMENTS.items()], **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(("k1", "b"), [(0.9, 0.4), (1.2, 0.75), (0.0, 0.0), (2.0, 1.0)])
@pytest.mark.parametrize("query", ["fox", "lazy dogs", "fox fox dog", "the unknown kingdom", "unknown"])
def test_scores_are_the_formulas(query: str, k1: float, b: float) -> None:
    made, terms = index(k1=k1, b=b), {docno: Analyzer()(text) for docno, text in DOCUMENTS.items()}
    expected = [brute_force(terms, Analyzer()(query), docno, k1, b) for docno in DOCUMENTS]
    assert made.scores(query).tolist() == pytest.approx(expected, abs=1e-12)
    assert [made.score(query, text) for text in DOCUMENTS.values()] == pytest.approx(expected, abs=1e-12)


words = st.sampled_from(["fox", "dog", "cat", "the", "run", "new"])
texts = st.lists(words, min_size=1, max_size=12).map(" ".join)


@given(st.lists(texts, min_size=1, max_size=8), texts, st.integers(1, 10))
def test_any_text_scores_as_the_index_would_and_the_best_come_first(corpus: list[str], query: str, k: int) -> None:
    made = BM25Index([Document(f"d{i}", text) for i, text in enumerate(corpus)])
    scores = {docno: made.score(query, text) for docno, text in zip(made.docnos, corpus, strict=True)}
    assert made.scores(query).tolist() == pytest.approx(list(scores.values()), abs=1e-9)
    found = made.search(query, k)
    matching = [score for score in scores.values() if score > 0]
    assert [score for _, score in found] == pytest.approx(sorted(matching, reverse=True)[:k], abs=1e-9)


@given(st.lists(texts, min_size=1, max_size=8), texts, texts)
def test_an_explanation_sums_to_the_score(corpus: list[str], query: str, text: str) -> None:
    made = BM25Index([Document(f"d{i}", t) for i, t in enumerate(corpus)])
    explained = made.explain(query, text)
    assert sum(term.contribution for term in explained) == pytest.approx(made.score(query, text), abs=1e-12)
    assert [term.term for term in explained] == list(dict.fromkeys(Analyzer()(query)))


def test_an_explanation_names_counts_and_missing_terms() -> None:
    fox, bear = index().explain("foxes bear", "fox fox")
    assert (fox.term, fox.tf, fox.df, fox.idf) == ("fox", 2, 3, pytest.approx(math.log(1 + 2.5 / 3.5)))
    assert bear == ("bear", 0, 0, pytest.approx(math.log(1 + 5.5 / 0.5)), 0.0)


def test_ties_come_in_the_order_of_their_docnos_even_at_the_cut() -> None:
    made = BM25Index([Document(docno, "same text") for docno in ("c", "a", "d", "b")])
    assert [docno for docno, _ in made.search("text", 2)] == ["d", "c"]


def test_only_documents_with_a_query_term_are_found_and_k_may_exceed_them() -> None:
    assert {docno for docno, _ in index().search("fox", 100)} == {"d1", "d2", "d3"}
    assert index().search("unknown", 3) == []


@pytest.mark.parametrize(
    ("query", "k", "what"), [("", 1, "no word"), ("?!", 1, "no word"), ("fox", 0, "cannot retrieve 0")]
)
def test_a_search_for_nothing_is_refused(query: str, k: int, what: str) -> None:
    with pytest.raises(UserError, match=what):
        index().search(query, k)


@pytest.mark.parametrize(
    ("documents", "what"),
    [
        ([("d", "x"), ("d", "y")], "document 'd' appears twice"),
        ([], "no word in these documents"),
        ([("d", "...")], "no word in these documents"),
    ],
)
def test_documents_that_cannot_be_indexed_are_refused(documents: list[tuple[str, str]], what: str) -> None:
    with pytest.raises(UserError, match=what):
        BM25Index([Document(*pair) for pair in documents])


@pytest.mark.parametrize(("k1", "b"), [(-1, 0.4), (0.9, 1.1), (math.nan, 0.4)])
def test_parameters_out_of_range_are_refused(k1: float, b: float) -> None:
    with pytest.raises(UserError, match="k1 must be 0 or more"):
        index(k1=k1, b=b)


def test_a_first_stage_ranks_from_one_and_names_the_query_it_cannot_search() -> None:
    collection = Collection.from_records("c", DOCUMENTS, {"q1": "foxes", "q2": "unknown"})
    run = first_stage(collection, 2)
    assert [(row.qid, row.rank, row.tag) for row in run["q1"]] == [("q1", 1, "bm25"), ("q1", 2, "bm25")]
    assert run["q1"][0].docno == "d2"
    assert run["q2"] == []
    with pytest.raises(UserError, match=r"query 'q9': the query '\?' has no word"):
        first_stage(Collection.from_records("c", DOCUMENTS, {"q9": "?"}), 2)
