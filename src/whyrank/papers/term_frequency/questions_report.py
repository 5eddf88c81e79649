"""The paper's open questions in the report: other terms and texts, natural differences, why pairs violate."""

from __future__ import annotations

from typing import Any

from whyrank.circuits.report import with_interval
from whyrank.encoders.site import short_name
from whyrank.evaluation.estimate import is_significant, row_text
from whyrank.pages.page import Cell, Report
from whyrank.papers.term_frequency.tables_report import LISTED

OUTCOMES = ("holds", "neutral", "violates")


def question_tables(report: Report, told: dict[str, Any]) -> None:
    asked = told["questions"]
    _alike(report, asked)
    _audits(report, asked["audit"])
    _why(report, asked["audit"])
    _violating(report, asked["violating_against_adhering"])


def _alike(report: Report, asked: dict[str, Any]) -> None:
    rows: list[list[Cell]] = []
    for name, one in (
        ("each document's own term", asked["document_terms"]), ("sentences restored", asked["restored"]),
        *((f"{filler} fillers", one) for filler, one in asked["fillers"].items()),
    ):  # fmt: skip
        if one:
            shown = with_interval(one["map"], "pearson")
            rows.append([name, one["pairs"], f"{one['gap']['mean']:+.3g}", shown, " ".join(one["leading"])])
        else:
            rows.append([name, 0, "–", "no such pairs", "–"])
    columns = ["pairs", "n", "mean gap", "r of the map with append's", "heads that stand out"]
    report.table(columns, rows, "The same heads by another choice of term, text or filler?")


def _audits(report: Report, audits: dict[str, Any]) -> None:
    rows: list[list[Cell]] = [
        [name, one["n"], one["queries"], *(_outcome(one, outcome) for outcome in OUTCOMES),
         row_text(one["mean"], "value", "+.3g")]
        for name, audit in audits.items() for one in audit["axioms"]
    ]  # fmt: skip
    if rows:
        columns = ["variation", "pairs", "queries", *OUTCOMES, "mean difference"]
        told = "Repetition beside sentences added, natural differences, and subjects restored, over all ranks."
        report.table(columns, rows, told)


def _outcome(summary: dict[str, Any], outcome: str) -> str:
    return row_text(summary[outcome], "value", ".0%")


def _why(report: Report, audits: dict[str, Any]) -> None:
    """What tells violating pairs from adhering ones."""
    rows: list[list[Cell]] = [
        [name, contrast["feature"], contrast["violating"], contrast["adhering"],
         row_text(contrast["cliffs_delta"], "value", "+.2f"),
         *(round(one[outcome]["value"] * one["n"]) for outcome in ("violates", "holds"))]
        for name, audit in audits.items() for one in audit["axioms"] for contrast in one["why"]
    ]  # fmt: skip
    if not rows:
        report.paragraph("Too few pairs violate to tell them from those that hold.")
        return
    columns = [
        "variation", "feature", "median of violating", "median of adhering", "Cliff's delta", "violate", "hold",
    ]  # fmt: skip
    report.table(
        columns,
        rows,
        "What tells pairs that violate from pairs that hold; +1: every violating pair has more of it than every "
        "adhering one, 0: even.",
    )


def _violating(report: Report, found: list[dict[str, Any]]) -> None:
    """Shares first: mean effects differ by construction, for pairs are parted by their gap."""
    order = sorted(found, key=lambda row: -abs(row["share_difference"]["value"] or 0.0))
    sure = [row for row in order if is_significant(row["p_holm"])]
    rows: list[list[Cell]] = [
        [short_name(row["site"]), with_interval(row["share_violating"], "value"), row["n_violating"],
         with_interval(row["share_adhering"], "value"), row["n_adhering"],
         with_interval(row["share_difference"], "value"), row["p_holm"], with_interval(row["difference"], "value")]
        for row in order[:LISTED]
    ]  # fmt: skip
    if not rows:
        return
    columns = ["head", "share in violating", "pairs", "share in adhering", "pairs", "difference of shares",
               "p (Holm)", "difference of mean effects"]  # fmt: skip
    report.table(
        columns,
        rows,
        f"Do heads take another part in the gap of pairs that violate TFC1? {len(sure)} of {len(found)} do, after "
        "Holm's correction; the largest differences. Mean effects differ by construction (pairs are parted by "
        "their gap), so look at the shares.",
    )
