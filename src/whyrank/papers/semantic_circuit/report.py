"""The report of the study: the paper's findings beside ours, then every stage's own report."""

from __future__ import annotations

from html import escape
from pathlib import Path

from whyrank.pages.findings import findings_table
from whyrank.pages.page import Report
from whyrank.papers.semantic_circuit.results import RESULTS, SemanticCircuit

WHY = (
    "Where they differ: the paper's pairs are of MS MARCO passages (2,000 to the logits), ours of the collection "
    "named above, cut to the length in the commands; its threshold is described in more than one way; the "
    "ranker's weights here may come from a mirror of 8-bit numbers. Which of these matters, a run on other pairs "
    "can show. The circuit's heads were chosen on queries of this collection, among them those that SemanticBM is "
    "tested on; its random heads were not chosen at all."
)


def study_page(study: SemanticCircuit, folder: Path) -> Report:
    """The page: verdict, findings, then the reports of all stages, whose run folders are in `folder`."""
    report = Report(
        f"Pathway to Relevance: {study.ranker} on {study.collection}",
        f"The paper's findings, measured here{' at quick size' if study.quick else ''}; {_finetuned(study)}",
        study.verdict(),
    )
    report.heading("The paper and what was measured here")
    if study.quick:
        report.paragraph("These sizes are for a first look: intervals are wide, and a verdict says little.")
    findings_table(
        report, study.findings,
        "Agrees: the paper's number lies in our 95% interval, or its statement holds here.",
    )  # fmt: skip
    report.paragraph(WHY)
    for stage in study.stages:
        if stage.name in RESULTS:
            report.heading(stage.title)
            report.html(f"<pre>{escape(stage.command)}</pre>")
            report.include(folder / stage.path / "report.html")
    return report


def _finetuned(study: SemanticCircuit) -> str:
    if any(stage.name == "finetune" for stage in study.stages):
        return "fine-tuning included."
    return "without fine-tuning (the extra finetune adds it)."
