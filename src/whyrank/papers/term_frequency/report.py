"""What `whyrank study term-frequency` writes of one ranker: its page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from whyrank.core.atomic import write_json, write_text
from whyrank.pages.findings import beside_table
from whyrank.pages.page import Report
from whyrank.papers.term_frequency.attention_report import attention_table
from whyrank.papers.term_frequency.counting_report import counting_tables
from whyrank.papers.term_frequency.figures import term_frequency_figures
from whyrank.papers.term_frequency.paper import NOTE, findings
from whyrank.papers.term_frequency.questions_report import question_tables
from whyrank.papers.term_frequency.tables_report import estimators_table, leading_tables, sets_table

RESULT = "term_frequency.json"
#: How the term of a query was chosen, by the name of the policy.
TERMS = {
    "effect": "the word of the query whose appending raises scores most",
    "document": "each document's own word of the query",
    "idf": "the rarest word of the query",
    "random": "any word of the query",
}
Tables = Callable[[Report, dict[str, Any]], None]
#: Headings, which figures belong to each by the beginning of their names, and the tables.
SECTIONS: tuple[tuple[str, str, Tables | None], ...] = (
    ("Sets of pairs", "", sets_table),
    ("Heads", "heads-", None),
    ("Blocks", "blocks", None),
    ("Positions", "positions-", None),
    ("Leading heads", "leading", leading_tables),
    ("What leading heads look at", "attention-", attention_table),
    ("Counting: TFC2", "tfc2 violations over-k", counting_tables),
    ("Information flow", "flow", None),
    ("Estimators side by side", "", estimators_table),
    ("Open questions", "", question_tables),
)


def write_ranker(told: dict[str, Any], out: Path, manifest: dict[str, Any], *, hide: bool = False) -> list[Path]:
    """term_frequency.json, a figure a file, report.html."""
    rows = findings(told)
    told = {**told, "findings": [asdict(row) for row in rows]}
    write_json(out / RESULT, told)
    figures = term_frequency_figures(told, hide=hide)
    paths = [out / RESULT]
    for name, (svg, _, _) in figures.items():
        write_text(out / f"{name}.svg", svg)
        paths.append(out / f"{name}.svg")
    report = Report(f"Term frequency in {told['ranker']}", lead(told))
    report.heading("The paper and what was measured here")
    beside_table(
        report,
        rows,
        "Agrees: the paper's number lies in our 95% interval, or its statement holds beyond doubt; differs: the "
        "contrary does; –: our data do not tell, or there is nothing to compare.",
    )
    report.paragraph(NOTE)
    for title, prefixes, tables in SECTIONS:
        some = [name for name in figures if name.startswith(tuple(prefixes.split()))]
        if some or tables:
            report.heading(title)
            for name in some:
                report.figure(*figures[name], name=name)
            if tables:
                tables(report, told)
    return [*paths, report.write(out / "report.html", manifest)]


def lead(told: dict[str, Any]) -> str:
    """What was studied, on what, and how much of it the ranker could see."""
    return (
        f"{told['kind']}, {told['layers']} layers x {told['heads_a_layer']} heads; read-out: "
        f"{told['reads']}; its own top 100 of {told['documents']} for {told['queries']} queries. "
        f"{told['max_length']} tokens are read, which cuts {told['cut']:.0%} of these documents. The term: "
        f"{TERMS.get(told['term'], told['term'])}."
    )
