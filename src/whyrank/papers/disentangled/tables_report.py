"""The tables of a study of DGRe, the paper's numbers beside ours, and which differences are significant."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from whyrank.evaluation.estimate import SIGNIFICANT, p_text, yes_or_no
from whyrank.evaluation.interval import TOO_FEW
from whyrank.learning.tables import Difference
from whyrank.pages.numbers import counted
from whyrank.pages.page import Cell, Report
from whyrank.papers.disentangled.paper import KINDS, PAPER, PAPERS_CUT, TITLES, papers_number
from whyrank.papers.disentangled.results import (
    CollectionNumbers,
    Disentangled,
    LackingRow,
    LengthTable,
    Row,
    Table,
)

#: What each table compares, and what all its trainings share.
ABOUT = {
    "table2": "All transformers start from the same backbone. What each reads of a document is listed below.",
    "table3": "DGRe with the rank loss alone, no distance and no information; learned is a threshold of our own.",
    "table4": "DGRe with the adaptive mask, without information.",
    "table5": "DGRe with the adaptive mask and the triangle; InfoNCE and CLUB are bounds of our own choice.",
    "layers": "Full DGRe; the paper refines all layers.",
}
CAPTION = (
    "Means over the test queries of all folds, each tested once; a query's seeds are averaged first. In "
    "brackets: 95% intervals over queries. The paper's numbers are of its own collections."
)
TESTS = "Paired two-tailed t-tests over the same queries, Holm-corrected over all tests of this table."


def effectiveness(report: Report, study: Disentangled, part: str) -> None:
    """A table of models, and its tests."""
    table = study.tables[part]
    report.paragraph(ABOUT[part])
    columns, rows = effectiveness_rows(part, table.rows, study.about.measures)
    rows += [[one.name, "lacking", *["–"] * (len(columns) - 2)] for one in table.lacking]
    report.table(columns, rows, CAPTION)
    for sentence in why_lacking(table.lacking, study.lacking):
        report.paragraph(sentence)
    _tests(report, part, table)


def why_lacking(rows: Iterable[LackingRow], reasons: Mapping[str, str]) -> list[str]:
    """One sentence per reason why rows are missing."""
    names: dict[str, list[str]] = {}
    for row in rows:
        names.setdefault(reasons.get(row.variant, "not trained yet"), []).append(row.name)
    return [f"{', '.join(some)} {'are' if some[1:] else 'is'} lacking: {why}." for why, some in names.items()]


def effectiveness_rows(
    part: str, rows: Sequence[Row], measures: Sequence[str]
) -> tuple[list[str], list[list[Cell]]]:
    """One line per model: our means with intervals, each seed's means, the paper's."""
    found = {(row.name, row.measure): row for row in rows}
    several = [f"{measure} by seed" for measure in measures if any(row.seeds > 1 for row in rows)]
    papers = [papers_column(place, measures) for place in PAPER.get(part, {})]
    columns = ["", *measures, *several, "queries", *papers]
    lines: list[list[Cell]] = []
    for name in dict.fromkeys(row.name for row in rows):
        mine = [found[name, measure] for measure in measures]
        shown: list[Cell] = [f"{row.mean:.4f}" for row in mine]
        seeds: list[Cell] = [_seeds(row) for row in mine] if several else []
        theirs = [_papers(part, place, name, measures) for place in PAPER.get(part, {})]
        lines.append([name, *shown, *seeds, mine[0].queries, *theirs])
    return columns, lines


def _tests(report: Report, part: str, table: Table) -> None:
    """What is significant, and on a click all tests."""
    for sentence in verdicts(part, table.differences):
        report.paragraph(sentence)
    rows: list[list[Cell]] = [
        [
            row.of, row.against, row.measure, f"{row.comparison.difference:+.4f}",
            p_text(row.comparison.p, _queries(row)), p_text(row.comparison.p_holm, _queries(row)),
            yes_or_no(row.comparison.p_holm), _queries(row),
        ]
        for row in table.differences
    ]  # fmt: skip
    columns = ["", "against", "measure", "difference", "p", "p (Holm)", "significant", "queries"]
    report.table(columns, rows, TESTS, folded=f"All {counted(len(rows), 'test')}")


def verdicts(part: str, differences: Sequence[Difference]) -> list[str]:
    """What is significant in a table, and what is not."""
    title = TITLES[part].split(":")[0]
    if not differences:
        return [f"{title}: nothing is compared."]
    tested = [row for row in differences if row.comparison.p_holm is not None]
    sure = [row for row in tested if row.comparison.is_significant]
    others = [row for row in tested if not row.comparison.is_significant]
    few = [row for row in differences if row.comparison.p_holm is None]
    found = []
    if sure:
        pairs = ((_pair(part, row, _side(row)), f"{row.measure} {_value(row):+.4f}") for row in sure)
        found.append(f"{title}, significant at {SIGNIFICANT} (Holm): {_listed(pairs)}.")
    if others:
        what = "not significant" if sure else "nothing is significant"
        found.append(f"{title}, {what} on {_sizes(others)} queries: {_listed(_measures(part, others))}.")
    if few:
        found.append(f"{title}, not tested on {_sizes(few)} queries, {TOO_FEW}: {_listed(_measures(part, few))}.")
    return found


def _side(row: Difference) -> str:
    return "above" if _value(row) > 0 else "below"


def _value(row: Difference) -> float:
    return row.comparison.difference.value or 0.0


def _queries(row: Difference) -> int:
    return row.comparison.difference.queries


def _sizes(rows: Sequence[Difference]) -> str:
    return " and ".join(dict.fromkeys(str(_queries(row)) for row in rows))


def _measures(part: str, rows: Iterable[Difference]) -> Iterable[tuple[str, str]]:
    return ((_pair(part, row), row.measure) for row in rows)


def _listed(pairs: Iterable[tuple[str, str]]) -> str:
    """`A above B (P@20, nDCG@20); ...`."""
    found: dict[str, list[str]] = {}
    for pair, measure in pairs:
        found.setdefault(pair, []).append(measure)
    return "; ".join(f"{pair} ({', '.join(measures)})" for pair, measures in found.items())


def length_table(report: Report, table: LengthTable | None, measures: Sequence[str]) -> None:
    """Table 6."""
    if table is None:
        report.paragraph("All test queries have the same number of words: there are no two groups.")
        return
    report.paragraph(
        f"The test queries are split at {table.cut} words: {table.rule}. The models are those of Table 2; the "
        "paper has 100 queries per group, split 8:1:1 to train, choose and test."
    )
    comparable = table.cut == PAPERS_CUT
    if not comparable:
        report.paragraph("The paper splits at 3 words: its numbers are not comparable and not shown here.")
    report.table(*_length_rows(table, measures, comparable), CAPTION)
    _tests(report, "table6", table)


def _length_rows(
    table: LengthTable, measures: Sequence[str], comparable: bool
) -> tuple[list[str], list[list[Cell]]]:
    found = {(row.group, row.name, row.measure): row for row in table.rows}
    groups = list(dict.fromkeys(row.group for row in table.rows))
    rows: list[list[Cell]] = []
    for group, theirs in zip(groups, PAPER["table6"], strict=True):
        for name in dict.fromkeys(row.name for row in table.rows):
            mine = [found[group, name, measure] for measure in measures]
            papers = [_papers("table6", theirs, name, measures)] * comparable
            rows.append([group, name, *(f"{row.mean:.4f}" for row in mine), mine[0].queries, *papers])
    papers_columns = [papers_column("Robust04", measures)] * comparable
    return ["queries of", "", *measures, "queries", *papers_columns], rows


def collection_table(report: Report, study: Disentangled, numbers: CollectionNumbers) -> None:
    """Table 1."""
    fixed = "a fixed test" if numbers.fixed_test else counted(len(study.about.folds), "fold")
    report.paragraph(
        f"{study.about.collection}: {counted(numbers.documents, 'document')}; {numbers.queries} queries used, "
        f"{numbers.test_queries} of them tested on ({fixed}). Relevant: graded above 0; a candidate without a "
        "judgement counts as 0. Random order: as expected over all orders of the candidates. Best possible: "
        "their order by grade, which no re-ranking exceeds; relevant documents that are not among the candidates "
        "or not in the collection cannot be ranked."
    )
    rows: list[list[Cell]] = [
        [row.what, *(f"{value:.{row.digits}f}" for value in (row.mean, row.median, row.spread)),
         f"{row.n} {row.of}"]
        for row in numbers.rows
    ]  # fmt: skip
    report.table(["", "mean", "median", "standard deviation", "n"], rows, "Table 1, for this collection.")


def _pair(part: str, row: Difference, side: str = "against") -> str:
    if part == "table6":
        (one, group), other = row.of.split(", ", 1), row.against.split(", ", 1)[0]
        return f"{one} {side} {other}, {group}"
    kind = f"{KINDS[part]} " if part in KINDS else ""
    return f"{kind}{row.of} {side} {row.against}"


def _seeds(row: Row) -> str:
    return " ".join(f"{value:.4f}" for value in row.by_seed) if row.seeds > 1 else "–"


def papers_column(place: str, measures: Sequence[str]) -> str:
    """The title of a column with the paper's numbers."""
    return f"paper, {place}: {' / '.join(measures)}"


def _papers(part: str, place: str, name: str, measures: Sequence[str]) -> str:
    known = [papers_number(part, place, name, measure) for measure in measures]
    if all(value is None for value in known):
        return "–"
    return " / ".join("–" if value is None else f"{value:.4f}" for value in known)
