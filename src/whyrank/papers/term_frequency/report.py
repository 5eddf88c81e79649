"""The page of one ranker: the verdict, its heads, the paper's findings beside ours, then every part."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from whyrank.evaluation.estimate import percent
from whyrank.pages.findings import findings_table
from whyrank.pages.numbers import counted
from whyrank.pages.page import Figures, Report
from whyrank.pages.terms import Term
from whyrank.papers.term_frequency.attention_report import attention_figures, attention_over_k, attention_table
from whyrank.papers.term_frequency.counting_report import counting_figures, counting_tables
from whyrank.papers.term_frequency.figures import block_figures, category_figures, flow_figures, head_figures
from whyrank.papers.term_frequency.paper import NOTE
from whyrank.papers.term_frequency.tables import estimators_table, leading_tables, question_tables, sets_table

if TYPE_CHECKING:
    from whyrank.papers.term_frequency.results import About, TermFrequencyStudy

#: How the term of a query was chosen, by the name of the policy.
TERMS = {
    "effect": "the word of the query whose appending raises scores most",
    "document": "each document's own word of the query",
    "idf": "the rarest word of the query",
    "random": "any word of the query",
}
FINDINGS = (
    "Agrees: the paper's number lies in our 95% interval, or its statement holds beyond doubt; differs: the "
    "contrary does; –: our data cannot say, or there is nothing to compare."
)
#: What the page speaks of beside the terms of the field.
OWN_TERMS = (
    Term("null", "A control: a word of another query in the term's place. An effect that it has, too, is not "
         "about the term.", "nulls?"),
    Term("minimal context", "A control: all but five words on either side of the change are fillers, so that the "
         "change stands without its text."),
    Term("read-out", "What the score is computed from: the states of the last layer at [CLS], or of all tokens.",
         "(?i:read-?outs?|read out)"),
    Term("rank band", "Documents at ranks 1 to 10, or 91 to 100, of the ranker's own ranking."),
    Term("late over early", "The slope of the last third of a curve over that of its first third: below 1 it "
         "flattens, 1 is a straight line."),
)  # fmt: skip
Tables = Callable[[Report, "TermFrequencyStudy"], None]
#: Headings, which figures belong to each by the beginning of their names, and the tables.
SECTIONS: tuple[tuple[str, str, Tables | None], ...] = (
    ("Heads", "heads-shares heads-raw", None),
    ("Sets of pairs", "", sets_table),
    ("Heads against controls, and by part", "heads-controls heads-by", None),
    ("Blocks", "blocks", None),
    ("Positions", "positions-", None),
    ("Leading heads", "leading", leading_tables),
    ("What leading heads attend to", "attention-", attention_table),
    ("Counting: TFC2", "tfc2 violations over-k", counting_tables),
    ("Information flow", "flow", None),
    ("Estimators side by side", "", estimators_table),
    ("Open questions", "", question_tables),
)


def study_figures(study: TermFrequencyStudy) -> Figures:
    """All figures by name, with captions and data."""
    return {
        **head_figures(study), **block_figures(study), **category_figures(study), **attention_figures(study),
        **counting_figures(study), **attention_over_k(study), **flow_figures(study),
    }  # fmt: skip


def study_page(study: TermFrequencyStudy) -> Report:
    """The page."""
    page = Report(f"Term frequency in {study.about.ranker}", lead(study.about), study.verdict(), OWN_TERMS)
    _section(page, study, *SECTIONS[0])
    page.heading("The paper and what was measured here")
    findings_table(page, study.findings, FINDINGS)
    page.paragraph(NOTE)
    for section in SECTIONS[1:]:
        _section(page, study, *section)
    return page


def _section(page: Report, study: TermFrequencyStudy, title: str, prefixes: str, tables: Tables | None) -> None:
    """A heading, its figures, its tables; nothing where there is neither."""
    figures = {name: one for name, one in study.drawn.items() if name.startswith(tuple(prefixes.split()))}
    if figures or tables:
        page.heading(title)
        for name, (svg, caption, data) in figures.items():
            page.figure(svg, caption, data, name)
        if tables:
            tables(page, study)


def lead(about: About) -> str:
    """What was studied, on what, and how much of it the ranker could see."""
    queries = counted(about.queries, "query", "queries")
    return (
        f"{about.kind}, {about.layers} layers x {about.heads_per_layer} heads; read-out: {about.reads}; its own "
        f"top 100 of {about.documents} for {queries}. {about.max_length} tokens are read, which cuts "
        f"{percent(about.cut)} of these documents. The term: {TERMS.get(about.term, about.term)}."
    )
