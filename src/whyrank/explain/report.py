"""The page of an explanation: one file to send to a colleague."""

from __future__ import annotations

from collections.abc import Sequence

from whyrank.explain.explanation import Explanation, TermEffect, Versus
from whyrank.explain.mechanism_report import add_heads, add_mechanism
from whyrank.explain.sentences import heads, named, not_covered, together
from whyrank.pages.numbers import counted
from whyrank.pages.page import Cell, Data, Report
from whyrank.pages.text import marked
from whyrank.plots.style import as_svg, drawing

#: Rows of a table that are shown at once.
SHOWN = 20


def explanation_page(found: Explanation) -> Report:
    """The verdict and its figure, the texts with their words marked, how the score is computed, all tables."""
    page = Report(_title(found), f"Query: {found.query}. Scores by {found.ranker}.", found.verdict())
    page.heading("The words")
    with drawing(7.2, 0.9 + 0.3 * min(8, len(found.terms))) as figure:
        found.plot(figure.subplots())
        data: Data = (["word", "times", "effect"], [[term.word, term.times, term.effect] for term in found.terms])
        page.figure(as_svg(figure), "The score lost when all occurrences of a word are taken out.", data, "words")
    page.html(marked(found.chunks(), f"{found.name}: {found.score:.2f}"))
    for sentence in (*together(found), *heads(found), *not_covered(found)):
        page.paragraph(sentence)
    if found.versus is not None:
        _versus(page, found, found.versus)
    if found.mechanism is not None:
        add_mechanism(page, "How the ranker computes it", found.mechanism)
    if found.bm25 is not None:
        add_mechanism(page, "BM25 beside it", found.bm25)
    if found.heads is not None:
        add_heads(page, found.heads)
    page.heading("All words")
    _terms(page, "The query's words", found.query_terms)
    _terms(page, "The document's words", found.terms)
    page.paragraph(
        f"{counted(found.coverage.calls, 'text')} scored. A word's effect is the score lost when it is "
        + ("deleted." if found.filler is None else f"replaced by as many '{found.filler}' as it has tokens.")
    )
    return page


def _title(found: Explanation) -> str:
    if found.why_not is not None:
        return f"Why is {found.name} at rank {found.why_not.rank}?"
    if found.versus is not None:
        return f"Why is {found.name} above {named(found.versus.docid, 'the other document')}?"
    return f"Why does {found.ranker} score {found.name} {found.score:.2f}?"


def _versus(page: Report, found: Explanation, other: Versus) -> None:
    below = named(other.docid, "the other document")
    page.heading(f"{found.name} against {below}")
    rows: list[list[Cell]] = [
        [one.word, _effect(one.above), _effect(one.below), f"{one.difference:+.3f}"] for one in other.words
    ]
    caption = "What each word adds to either score; – where a text does not hold it."
    columns = ["word", found.name, below, "difference"]
    page.table(columns, rows[:SHOWN], caption)
    if len(rows) > SHOWN:
        page.table(columns, rows[SHOWN:], folded=f"{counted(len(rows) - SHOWN, 'more word')}")
    page.html(marked([(other.document, 0.0)], f"{below}: {other.score:.2f}"))


def _terms(page: Report, title: str, terms: Sequence[TermEffect]) -> None:
    rows: list[list[Cell]] = [[term.word, term.times, f"{term.effect:+.3f}"] for term in terms]
    page.table(["word", "times", "score lost without it"], rows, folded=title)


def _effect(value: float | None) -> str | None:
    return None if value is None else f"{value:+.3f}"
