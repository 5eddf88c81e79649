"""The report of an explanation."""

from __future__ import annotations

from collections.abc import Sequence

from whyrank.explain.explanation import Explanation, TermEffect
from whyrank.pages.numbers import counted
from whyrank.pages.page import Cell, Data, Report
from whyrank.plots.style import as_svg, drawing


def explanation_page(found: Explanation) -> Report:
    """The page: the verdict, the strongest words, then all of them and the query's."""
    page = Report(
        f"Why does {found.ranker} score this document {found.score:.2f}?",
        f"Query: {found.query}. {counted(found.coverage.calls, 'text')} scored.",
        found.verdict(),
    )
    with drawing(7.2, 0.9 + 0.3 * min(8, len(found.terms))) as figure:
        found.plot(figure.subplots())
        data: Data = (["word", "times", "effect"], [[term.word, term.times, term.effect] for term in found.terms])
        page.figure(as_svg(figure), "The score lost when all occurrences of a word are taken out.", data, "words")
    page.heading("The document")
    page.paragraph(found.document[: found.coverage.characters])
    page.heading("The query's words")
    _terms(page, found.query_terms)
    page.heading("The document's words")
    _terms(page, found.terms)
    return page


def _terms(page: Report, terms: Sequence[TermEffect]) -> None:
    rows: list[list[Cell]] = [[term.word, term.times, f"{term.effect:+.3f}"] for term in terms]
    page.table(["word", "times", "score lost without it"], rows)
