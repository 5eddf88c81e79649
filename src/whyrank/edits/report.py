"""The report of an edit: what it turns, what moves, what it costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from whyrank.core.atomic import write_json, write_text
from whyrank.edits.figures import moves, turned_pieces
from whyrank.evaluation.estimate import row_text
from whyrank.pages.page import Cell, Figures, Report

RESULT = "edit.json"
COST_TOLD = (
    "Changed: queries whose order changes. nDCG@10 is over the judged queries, agreement over all: the nDCG@10 "
    "of the edited ranking with gains from the unedited one, 10 for its first document to 1 for its tenth; it is "
    "1 if the first ten stay as they are. In brackets 95% intervals over queries; the difference is "
    "paired."
)
HOLDERS_TOLD = (
    "the edit. Change: how much the mean score of the documents that hold the word changes, less that of the "
    "others. Holding is decided by the whole word in the document's text."
)


def write_result(told: dict[str, Any], folder: Path, name: str, figures: Figures) -> list[Path]:
    """The JSON and the figures."""
    write_json(folder / name, told)
    for figure, (svg, _, _) in figures.items():
        write_text(folder / f"{figure}.svg", svg)
    return [folder / name, *(folder / f"{figure}.svg" for figure in figures)]


def write_preview(told: dict[str, Any], folder: Path, manifest: dict[str, Any]) -> list[Path]:
    """edit.json, the figures and report.html of a preview."""
    figures = preview_figures(told)
    paths = write_result(told, folder, RESULT, figures)
    what = _what(told)
    report = Report(
        f"What would change? {told['ranker']} on {told['collection']}",
        f"{what}. {told['pairs']} pairs of {told['cost']['queries']} queries; {told['rescored']} of them read a "
        "changed token and were scored again, all others cannot change.",
    )
    if told["holders"]:
        report.heading("Did it do what was meant?")
        holders_table(report, told["holders"])
    report.heading("What it costs")
    cost_table(report, [("", told["cost"])])
    report.heading("What moves")
    if "moves" in figures:
        report.figure(*figures["moves"])
    _moved(report, told)
    if told["turns"]:
        report.heading("What is turned")
        report.figure(*figures["turns"])
        _turns(report, told)
    report.heading("Where the sign comes from")
    report.paragraph(dial_in_words(told["dial"]))
    return [*paths, report.write(folder / "report.html", manifest)]


def holders_table(report: Report, told: Sequence[Mapping[str, Any]]) -> None:
    """For each edited word the sentence, and query by query what it is made from."""
    for one in told:
        report.paragraph(one["sentence"][:1].upper() + one["sentence"][1:] + ".")
        if one["by_query"]:
            rows: list[list[Cell]] = [
                [row["query"], row["holders"], row["others"], f"{row['change']:+.4f}"] for row in one["by_query"]
            ]
            shown = (
                f"The {len(rows)} of {one['queries']} queries with documents of both kinds that go most against "
            )
            columns = ["query", f"documents that hold {one['what']}", "others", "change"]
            report.table(columns, rows, shown + HOLDERS_TOLD)


def preview_figures(told: Mapping[str, Any]) -> Figures:
    found: Figures = {}
    if told["changes"]:
        rows = [
            [change["qid"], d["docno"], d["before"], d["after"], d["score_before"], d["score_after"]]
            for change in told["changes"]
            for d in change["documents"]
        ]
        caption = "The queries that change most: the ranks of the documents that move, before and after the edit."
        data = (["query", "document", "before", "after", "score before", "score after"], rows)
        found["moves"] = (moves(told["changes"]), caption, data)
    if told["turns"]:
        turns = [[t["piece"], ", ".join(t["terms"]), t["before"], t["after"]] for t in told["turns"]]
        caption = "U0 of the pieces that the edit turns, before and after."
        found["turns"] = (turned_pieces(told["turns"]), caption, (["piece", "terms", "before", "after"], turns))
    return found


def dial_in_words(dial: Mapping[str, Any]) -> str:
    """How sure the sign of U_0 is."""
    why = f" ({dial['fallback']}, so this is the built-in one)" if dial["fallback"] else ""
    return (
        f"U0 is the first left singular vector of the embedding matrix (singular value {dial['s0']:.4g}), turned "
        f"so that it goes against the IDF of {dial['idf']}{why}: r = {dial['r']:.3f} "
        f"[{dial['low']:.3f}, {dial['high']:.3f}] over {dial['words']} whole words."
    )


def cost_table(report: Report, costs: list[tuple[str, Mapping[str, Any]]], first: str = "") -> None:
    """A row an edit: nDCG before, after and their difference, agreement, and how many queries change."""
    columns = ["changed", "judged", "nDCG@10 before", "after", "difference", "agreement"]
    rows: list[list[Cell]] = [
        [
            *([name] if first else []), f"{cost['changed_queries']} of {cost['queries']}",
            (cost["ndcg_after"] or {"n": 0})["n"],
            *(with_interval(cost[key]) for key in ("ndcg_before", "ndcg_after")),
            with_interval(cost["difference"], "+.4f"), with_interval(cost["agreement"]),
        ]
        for name, cost in costs
    ]  # fmt: skip
    report.table([*([first] if first else []), *columns], rows, COST_TOLD)


def with_count(estimate: Mapping[str, Any], form: str = ".4f") -> str:
    """`0.7768 [0.7109, 0.8438] (n=26)`."""
    return f"{with_interval(estimate, form)} (n={estimate['n']})"


def with_interval(estimate: Mapping[str, Any] | None, form: str = ".4f") -> str | None:
    """`0.7768 [0.7109, 0.8438]`."""
    if estimate is None or estimate["value"] is None:
        return None
    return row_text(estimate, "value", form)


def _moved(report: Report, told: Mapping[str, Any]) -> None:
    if not told["changes"]:
        report.paragraph("No document changes its rank.")
        return
    rows: list[list[Cell]] = [
        [
            change["query"], d["docno"], f"{d['before']} → {d['after']}",
            f"{d['score_before']:.3f} → {d['score_after']:.3f}", d["grade"],
        ]
        for change in told["changes"]
        for d in change["documents"]
    ]  # fmt: skip
    told_of = f"The {len(told['changes'])} queries that change most of {told['cost']['changed_queries']} that do."
    report.table(["query", "document", "rank", "score", "grade"], rows, told_of)


def _turns(report: Report, told: Mapping[str, Any]) -> None:
    shared = {(one["term"], one["piece"]): one for one in told["shared"]}
    rows: list[list[Cell]] = []
    for turn in told["turns"]:
        for term in turn["terms"]:
            one = shared.get((term, turn["piece"]))
            others = f"{one['words']} in {one['documents']} documents" if one else "none"
            examples = ", ".join(dict.fromkeys([one["word"] or "", *one["examples"]])).strip(", ") if one else ""
            rows.append([term, turn["piece"], f"{turn['before']:+.5f}", f"{turn['after']:+.5f}", others, examples])
    report.table(["term", "piece", "U0 before", "U0 after", "other words with it", "such as"], rows)


def _what(told: Mapping[str, Any]) -> str:
    if told["alignment"]:
        one = told["alignment"]
        return (
            f"U0 aligned with the IDF of {told['dial']['idf']} ({one['tokens']} tokens): r over {one['words']} "
            f"words from {one['r_before']:.3f} to {one['r_after']:.3f}, by a new SVD {one['r_by_new_svd']:.3f}"
        )
    return ", ".join(f"{e['direction']} {e['term']}={e['scale']:g}" for e in told["edits"])
