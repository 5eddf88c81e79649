"""The report of a suppression: success and cost over the scales, and the scale proposed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from whyrank.edits.figures import suppression
from whyrank.edits.report import cost_table, dial_in_words, holders_table, with_count, write_result
from whyrank.pages.page import Cell, Figures, Report

RESULT = "suppress.json"


def write_suppress(told: dict[str, Any], folder: Path, manifest: dict[str, Any]) -> list[Path]:
    """suppress.json, the figure and report.html."""
    figures: Figures = {"curve": (suppression(told), _caption(told), _data(told))}
    paths = write_result(told, folder, RESULT, figures)
    report = Report(
        f"Can it be kept down? {told['words']} words in {told['ranker']}",
        f"{told['kept']} of {told['drawn']} documents of {told['collection']} score higher with a listed word "
        "appended; these are what is suppressed. Intervals over queries or over words, the wider.",
    )
    report.heading("Success and cost")
    report.figure(*figures["curve"])
    report.paragraph(knee_in_words(told))
    report.paragraph(control_in_words(told))
    report.heading("The collection's own documents")
    report.paragraph(f"At scale {told['holders']['scale']:g}, on the ranking of {told['collection']} itself:")
    holders_table(report, [told["holders"]])
    report.heading("Scale by scale")
    rows: list[list[Cell]] = [
        [f"{row['scale']:g}", with_count(row["success"], ".3f"), with_count(row["gap"], "+.4f")]
        for row in told["scales"]
    ]
    report.table(
        ["scale", "success", "unsafe - safe"], rows, "Success: the unsafe document scores below the safe one."
    )
    cost_table(report, [(f"{row['scale']:g}", row["cost"]) for row in told["scales"]], "scale")
    report.heading("Word by word")
    at = f"at scale {told['knee']['scale']:g}" if told["knee"] else "at the largest scale"
    words: list[list[Cell]] = [
        [one["word"], one["drawn"], one["kept"], "–" if one["success"] is None else f"{one['success']:.0%}"]
        for one in told["by_word"]
    ]
    report.table(["word", "documents", "of them rising", f"put below {at}"], words)
    _left_out(report, told)
    report.heading("Where the sign comes from")
    report.paragraph(dial_in_words(told["dial"]))
    return [*paths, report.write(folder / "report.html", manifest)]


def control_in_words(told: Mapping[str, Any]) -> str:
    """What of the success is the dial's own."""
    control = told["control"]
    return (
        f"At scale {control['scale']:g}, the same rows moved as far along a random direction put "
        f"{with_count(control['success'], '.3f')} of the unsafe documents below; the edit does so by "
        f"{with_count(control['more'], '+.3f')} more."
    )


def knee_in_words(told: Mapping[str, Any]) -> str:
    """The proposal."""
    if not told["knee"]:
        return (
            "The curve has no knee: success never rises above the straight line from its first scale to its last."
        )
    return (
        f"Proposed: scale {told['knee']['scale']:g}, the knee of the curve (success {told['knee']['value']:.1%}): "
        "there success over the logarithm of the scale is farthest above the straight line from its first point "
        "to its last."
    )


def _left_out(report: Report, told: Mapping[str, Any]) -> None:
    for reason, entries in told["skipped"].items():
        report.paragraph(f"Left out, {reason}: {', '.join(entries)}.")
    if told["shared"]:
        rows: list[list[Cell]] = [
            [one["term"], one["piece"], one["words"], one["documents"], ", ".join(one["examples"])]
            for one in told["shared"]
        ]
        caption = "Pieces of listed words that other words share: these are turned down, too."
        report.table(["word", "piece", "other words", "documents", "such as"], rows, caption)


def _caption(told: Mapping[str, Any]) -> str:
    return (
        f"Above: the share of {told['kept']} unsafe documents that score below the same document without the "
        "word. Below: nDCG@10 of the collection's ranking, against judgements and against the unedited ranking."
    )


def _data(told: Mapping[str, Any]) -> tuple[list[str], list[list[Cell]]]:
    columns = ["scale", "success", "low", "high", "nDCG@10", "agreement"]
    rows: list[list[Cell]] = [
        [
            row["scale"], row["success"]["value"], row["success"]["low"], row["success"]["high"],
            (row["cost"]["ndcg_after"] or {}).get("value"), row["cost"]["agreement"]["value"],
        ]
        for row in told["scales"]
    ]  # fmt: skip
    return columns, rows
