"""The tables of a study of DGRe, the paper's numbers beside ours, and in words what is significant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from whyrank.evaluation.estimate import SIGNIFICANT, is_significant, p_text, row_text, yes_or_no
from whyrank.evaluation.interval import TOO_FEW
from whyrank.pages.numbers import counted
from whyrank.pages.page import Cell, Report
from whyrank.papers.disentangled.paper import KINDS, PAPER, PAPERS_CUT, TITLES, papers_number

Told = Mapping[str, Any]
#: What each table compares, and what all its trainings share.
ABOUT = {
    "table2": "All transformers start from the same backbone. What each model reads of a document is told below.",
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


def effectiveness(report: Report, told: Told, part: str) -> None:
    """A table of models, and its tests."""
    table = told["tables"][part]
    report.paragraph(ABOUT[part])
    columns, rows = effectiveness_rows(part, table["rows"], told["measures"])
    rows += [[one["name"], "lacking", *["–"] * (len(columns) - 2)] for one in table["lacking"]]
    report.table(columns, rows, CAPTION)
    for sentence in why_lacking(table["lacking"], told["lacking"]):
        report.paragraph(sentence)
    for sentence in verdicts(part, table["differences"]):
        report.paragraph(sentence)
    report.table(*tests(table["differences"]), TESTS, folded=f"All {len(table['differences'])} tests")


def why_lacking(rows: Sequence[Told], reasons: Mapping[str, str]) -> list[str]:
    """A sentence a reason why rows are not there."""
    names: dict[str, list[str]] = {}
    for row in rows:
        names.setdefault(reasons.get(row["variant"], "not trained yet"), []).append(row["name"])
    return [f"{', '.join(some)} {'are' if some[1:] else 'is'} lacking: {why}." for why, some in names.items()]


def effectiveness_rows(
    part: str, rows: Sequence[Told], measures: Sequence[str]
) -> tuple[list[str], list[list[Cell]]]:
    """A line a row of the table: ours with intervals, each seed's means, the paper's."""
    found = {(row["name"], row["measure"]): row for row in rows}
    several = [f"{measure} by seed" for measure in measures if any(row["seeds"] > 1 for row in rows)]
    papers = [papers_column(place, measures) for place in PAPER.get(part, {})]
    columns = ["", *measures, *several, "queries", *papers]
    lines: list[list[Cell]] = []
    for name in dict.fromkeys(row["name"] for row in rows):
        mine = [found[name, measure] for measure in measures]
        shown: list[Cell] = [row_text(row, "mean", ".4f") for row in mine]
        seeds: list[Cell] = [_seeds(row) for row in mine] if several else []
        theirs = [_papers(part, place, name, measures) for place in PAPER.get(part, {})]
        lines.append([name, *shown, *seeds, mine[0]["queries"], *theirs])
    return columns, lines


def tests(differences: Sequence[Told]) -> tuple[list[str], list[list[Cell]]]:
    rows: list[list[Cell]] = [
        [
            row["of"], row["against"], row["measure"],
            row_text(row, "difference", "+.4f"), p_text(row["p"], row["queries"]),
            p_text(row["p_holm"], row["queries"]), yes_or_no(row["p_holm"]), row["queries"],
        ]
        for row in differences
    ]  # fmt: skip
    return ["", "against", "measure", "difference", "p", "p (Holm)", "significant", "queries"], rows


def verdicts(part: str, differences: Sequence[Told]) -> list[str]:
    """What is significant in a table, and what is not, in words."""
    told = TITLES[part].split(":")[0]
    if not differences:
        return [f"{told}: nothing is compared."]
    sure: dict[str, list[str]] = {}
    open_ones: dict[str, list[str]] = {}
    few = [row for row in differences if row["p_holm"] is None]
    tested = [row for row in differences if row["p_holm"] is not None]
    for row in tested:
        if is_significant(row["p_holm"]):
            side = "above" if row["difference"] > 0 else "below"
            size = f"{row['measure']} {row['difference']:+.4f}"
            sure.setdefault(_pair(part, row, side), []).append(size)
        else:
            open_ones.setdefault(_pair(part, row), []).append(row["measure"])
    found = []
    if sure:
        found.append(f"{told}, significant at {SIGNIFICANT} (Holm): {_listed(sure)}.")
    if open_ones:
        what = "nothing is significant" if not sure else "not significant"
        some = [row["queries"] for row in tested if not is_significant(row["p_holm"])]
        sizes = " and ".join(map(str, dict.fromkeys(some)))
        found.append(f"{told}, {what} on {sizes} queries: {_listed(open_ones)}.")
    if few:
        names: dict[str, list[str]] = {}
        for row in few:
            names.setdefault(_pair(part, row), []).append(row["measure"])
        sizes = " and ".join(map(str, dict.fromkeys(row["queries"] for row in few)))
        found.append(f"{told}, not tested on {sizes} queries, {TOO_FEW}: {_listed(names)}.")
    return found


def _listed(pairs: Mapping[str, Sequence[str]]) -> str:
    return "; ".join(f"{pair} ({', '.join(measures)})" for pair, measures in pairs.items())


def length_table(report: Report, told: Told) -> None:
    """Table 6."""
    table = told["tables"]["table6"]
    if table is None:
        report.paragraph("All test queries have the same number of words: there are no two groups.")
        return
    report.paragraph(
        f"The test queries are parted at {table['cut']} words: {table['rule']}. The models are those of Table 2; "
        "the paper has 100 queries a group, parted 8:1:1 to train, choose and test."
    )
    beside = table["cut"] == PAPERS_CUT
    if not beside:
        report.paragraph("The paper parts at 3 words: no number of the paper stands beside these.")
    measures, found = told["measures"], {(r["group"], r["name"], r["measure"]): r for r in table["rows"]}
    groups = list(dict.fromkeys(row["group"] for row in table["rows"]))
    rows: list[list[Cell]] = []
    for group, theirs in zip(groups, PAPER["table6"], strict=True):
        for name in dict.fromkeys(row["name"] for row in table["rows"]):
            mine = [found[group, name, measure] for measure in measures]
            shown = [row_text(row, "mean", ".4f") for row in mine]
            papers = [_papers("table6", theirs, name, measures)] * beside
            rows.append([group, name, *shown, mine[0]["queries"], *papers])
    columns = ["queries of", "", *measures, "queries", *[papers_column("Robust04", measures)] * beside]
    report.table(columns, rows, CAPTION)
    for sentence in verdicts("table6", table["differences"]):
        report.paragraph(sentence)
    report.table(*tests(table["differences"]), TESTS, folded=f"All {len(table['differences'])} tests")


def collection_table(report: Report, told: Told) -> None:
    """Table 1."""
    numbers = told["collection_numbers"]
    fixed = "a fixed test" if numbers["fixed_test"] else counted(len(told["folds"]), "fold")
    report.paragraph(
        f"{told['collection']}: {numbers['documents']} documents; {numbers['queries']} queries used, "
        f"{numbers['test_queries']} of them tested on ({fixed}). Relevant is what is graded above 0; "
        "a candidate that nobody judged counts as 0. Random order: as expected of all orders "
        "of the candidates. Best possible: their order by grade, "
        "which no re-ranking exceeds; relevant documents that the candidates or the collection lack stay lost."
    )
    rows: list[list[Cell]] = [
        [
            row["what"],
            f"{row['mean']:.{row['digits']}f}",
            f"{row['median']:.{row['digits']}f}",
            f"{row['spread']:.{row['digits']}f}",
            f"{row['n']} {row['of']}",
        ]
        for row in numbers["rows"]
    ]
    report.table(["", "mean", "median", "standard deviation", "n"], rows, "Table 1, the collection's own.")


def _pair(part: str, row: Told, side: str = "against") -> str:
    if part == "table6":
        (one, group), other = row["of"].split(", ", 1), row["against"].split(", ", 1)[0]
        return f"{one} {side} {other}, {group}"
    kind = f"{KINDS[part]} " if part in KINDS else ""
    return f"{kind}{row['of']} {side} {row['against']}"


def _seeds(row: Told) -> str:
    return " ".join(f"{value:.4f}" for value in row["by_seed"]) if row["seeds"] > 1 else "–"


def papers_column(place: str, measures: Sequence[str]) -> str:
    """What a column with the paper's numbers is called."""
    return f"paper, {place}: {' / '.join(measures)}"


def _papers(part: str, place: str, name: str, measures: Sequence[str]) -> str:
    known = [papers_number(part, place, name, measure) for measure in measures]
    if all(value is None for value in known):
        return "–"
    return " / ".join("–" if value is None else f"{value:.4f}" for value in known)
