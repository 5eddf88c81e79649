"""The tables of a term-frequency study: sets of pairs, the leading heads, estimators."""

from __future__ import annotations

from typing import Any

from whyrank.circuits.report import with_interval
from whyrank.encoders.site import short_name
from whyrank.evaluation.estimate import estimate_text, row_text
from whyrank.evaluation.interval import TOO_FEW, Interval
from whyrank.pages.page import Cell, Report
from whyrank.papers.term_frequency.heads_report import CONTROLS

#: Rows of a table.
LISTED = 12
RAW = "raw effect"
ESTIMATORS = ("ratio_of_sums", "thresholded_mean", "mean_of_ratios")


def sets_table(report: Report, told: dict[str, Any]) -> None:
    """Every set of pairs: how much, how large the gap, and whether shares of it mean anything."""
    rows: list[list[Cell]] = []
    for name, one in told["sets"].items():
        keep, gap = one["keep"], Interval.from_json(one["gap_interval"])
        rows.append([
            name, one["pairs"], one["queries"], estimate_text(one["gap"]["mean"], gap, "+.3g"),
            f"{one['gap']['median']:+.3g}", f"{keep['adherent']} of {keep['pairs']}",
            keep["correlation_with_all"], _told_as(name, told["sets"]),
        ])  # fmt: skip
    columns = [
        "set",
        "pairs",
        "queries",
        "mean gap",
        "median gap",
        "adherent",
        "r of adherent with all",
        "told as",
    ]
    report.table(
        columns,
        rows,
        "Gap: perturbed less baseline score. Null: a word of another query in the term's place. Minimal context: "
        "all but five words on either side of the change are fillers. Adherent: the perturbed side scores higher; "
        "r: their map of heads against that of all pairs.",
    )
    unsure = [name for name in told["sets"] if _told_as(name, told["sets"]) == RAW]
    if unsure:
        report.paragraph(
            f"Told as raw effects on the score: {'; '.join(unsure)}. The interval of the mean gap (for a control: "
            "of what it controls) holds 0, and shares of a gap that may be 0 mean nothing."
        )


def _told_as(name: str, sets: dict[str, Any]) -> str:
    """Controls are told on the scale of what they control."""
    base = CONTROLS.get(name)
    if base is None:
        return "share of its gap" if sets[name]["sure"] else RAW
    return f"share of {base}'s gap" if base in sets and sets[base]["sure"] else RAW


def leading_tables(report: Report, told: dict[str, Any]) -> None:
    _together(report, told["together"])
    rows = sorted(told["append_less_prepend"], key=lambda row: -abs(row["difference"]))
    caption = (
        "Effect on the score, the same query and document with the term at the end less at the start: the "
        f"largest of all {len(rows)} heads, p Holm-corrected over all of them."
    )
    _differences(report, rows[:LISTED], caption)
    rows = sorted(told["append_less_prepend_by_category"], key=lambda row: -abs(row["difference"]))
    caption = (
        "The same for the leading heads by category of tokens. They were chosen on the same pairs: look at the "
        "pattern, not at the sizes."
    )
    _differences(report, rows[:LISTED], caption)


def _together(report: Report, joint: dict[str, Any]) -> None:
    first, second = (" ".join(heads) or "none" for heads in joint["halves"])
    report.paragraph(
        f"Leading heads patched together at the injected term. One half of the queries chose {first}, the other "
        f"{second}; each choice was measured on the other half."
    )
    rows: list[list[Cell]] = []
    for name, words in (("positive", "heads whose share is above 0"), ("all", "all of them")):
        if one := joint[name]:
            for part, told in (("all ranks", one), *((f"ranks {b}", band) for b, band in one["bands"].items())):
                rows.append([words, part, with_interval(told, "share"), told["n"]])
    if rows:
        report.table(["patched", "documents", "share of the gap", "pairs"], rows)


def _differences(report: Report, rows: list[dict[str, Any]], caption: str) -> None:
    cells: list[list[Cell]] = [
        [short_name(row["site"].split("@")[0]), row["category"] or "all",
         row_text(row, "difference", "+.3g"), row["n"], row["queries"], row["p_holm"]]
        for row in rows
    ]  # fmt: skip
    if cells:
        report.table(["head", "tokens", "append less prepend", "pairs", "queries", "p (Holm)"], cells, caption)


def estimators_table(report: Report, told: dict[str, Any]) -> None:
    """Which heads survive which estimator."""
    found = told["estimators"]
    if not found:
        report.paragraph("Nothing was estimated.")
        return
    if all(row[name]["survives"] is None for row in found for name in ESTIMATORS):
        report.paragraph(f"Which heads survive which estimator cannot be said: {TOO_FEW}.")
        return
    counts = {name: sum(bool(row[name]["survives"]) for row in found) for name in ESTIMATORS}
    every = sum(all(row[name]["survives"] for name in ESTIMATORS) for row in found)
    report.paragraph(
        f"Of {len(found)} heads "
        + ", ".join(f"{counts[name]} survive the {name.replace('_', ' ')}" for name in ESTIMATORS)
        + f"; {every} survive all three. To survive is family-wise (a max-t bootstrap over all heads): one false "
        "survivor in twenty studies."
    )
    order = sorted(found, key=lambda row: -abs(row["ratio_of_sums"]["value"] or 0.0))[:LISTED]
    rows: list[list[Cell]] = [
        [short_name(row["site"]), *(with_interval(row[name], "value") for name in ESTIMATORS),
         " ".join("yes" if row[name]["survives"] else "no" for name in ESTIMATORS), row["n"],
         row["thresholded_mean"]["n"]]
        for row in order
    ]  # fmt: skip
    report.table(
        ["head", "ratio of sums", "thresholded mean of ratios", "mean of ratios (papers)", "survives", "pairs",
         "above threshold"],
        rows,
        f"The {len(rows)} largest. Threshold: |gap| of at least {found[0]['threshold']:.4g}.",
    )  # fmt: skip
