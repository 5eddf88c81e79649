"""The report of an export: how far it is from the ranker, and how to use it."""

from __future__ import annotations

from whyrank.edits.export.results import Export
from whyrank.evaluation.estimate import percent
from whyrank.pages.page import Cell, Report


def export_page(result: Export) -> Report:
    """The page: the verdict, the check of each file, what an engine has to do."""
    page = Report(
        f"{result.ranker} as ONNX",
        f"Inputs {', '.join(result.inputs)}; outputs {', '.join(result.outputs)}; operators of opset "
        f"{result.opset}; at most {result.max_length} tokens.",
        result.verdict(),
    )
    page.heading("Is it the same?")
    rows: list[list[Cell]] = [
        [
            one.file, f"{one.megabytes:.1f}", f"{one.largest:.2g}",
            None if one.in_sd is None else f"{one.in_sd:.2g}", percent(one.ordered_alike, 2),
            one.agreement.text(".4f"),
        ]
        for one in result.checks
    ]  # fmt: skip
    columns = ["file", "MB", "largest difference", "in sd", "ordered alike", "agreement"]
    caption = (
        "Scores by ONNX Runtime against the ranker's own. In sd: standard deviations of the scores within "
        "queries. Ordered alike: pairs of documents of one query. Agreement: nDCG@10 with gains from the "
        "ranker's order."
    )
    page.table(columns, rows, caption)
    page.heading("What an engine has to do")
    for note in result.notes:
        page.paragraph(note)
    return page
