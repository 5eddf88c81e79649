"""The report of `whyrank study semantic-circuit`: the paper's findings beside ours, then every stage's own
report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from html import escape
from pathlib import Path
from typing import Any

from whyrank.core.atomic import write_json
from whyrank.core.json_file import read_json
from whyrank.pages.findings import DIFFERS, beside_table
from whyrank.pages.page import Report
from whyrank.papers.semantic_circuit.paper import findings

#: The result file of each stage that the findings are read from.
RESULT_FILES = {
    "circuit": "circuit.json", "activation-tfc1": "summary.json", "activation-stmc1": "summary.json",
    "idf": "idf.json", "two-tokens": "edit.json", "suppress": "suppress.json", "semantic-bm": "semantic_bm.json",
    "semantic-bm-paper": "semantic_bm.json",
    "finetune": "finetune.json",
}  # fmt: skip
#: Name, title, folder and command of a stage.
Done = tuple[str, str, Path, str]
WHY = (
    "Where they differ: the paper's pairs are of MS MARCO passages (2,000 to the logits), ours of the collection "
    "named above, cut to the length in the commands; its threshold is told in more than one way; the ranker's "
    "weights here may come from a mirror of 8-bit numbers. Which of these matters, a run on other pairs can tell. "
    "The circuit's heads were chosen on queries of this collection, among them those that SemanticBM is tested "
    "on; its random heads were not chosen at all."
)


def write_study(
    out: Path, stages: Sequence[Done], *, about: dict[str, Any], manifest: dict[str, Any]
) -> list[Path]:
    """study.json, the findings, and report.html, which holds the reports of all stages."""
    results = {
        name: read_json(folder / RESULT_FILES[name], dict[str, Any])
        for name, _, folder, _ in stages
        if name in RESULT_FILES
    }
    rows = findings(results)
    told = {**about, "findings": [asdict(row) for row in rows]}
    write_json(out / "study.json", told)
    report = Report(
        f"Pathway to Relevance: {about['ranker']} on {about['collection']}",
        f"The paper's findings, measured here{' at quick size' if about['quick'] else ''}; {_left_out(stages)}",
    )
    report.heading("The paper and what was measured here")
    if about["quick"]:
        report.paragraph("These sizes are for a first look: intervals are wide, and a verdict says little.")
    beside_table(report, rows, "Agrees: the paper's number lies in our 95% interval, or its statement holds here.")
    differing = [row for row in rows if row.verdict == DIFFERS]
    report.paragraph(
        f"{len(differing)} of {len(rows)} findings differ: {'; '.join(row.what for row in differing)}."
        if differing
        else "No finding differs."
    )
    report.paragraph(WHY)
    for name, title, folder, command in stages:
        if name in RESULT_FILES:
            report.heading(title)
            report.html(f"<pre>{escape(command)}</pre>")
            report.include(folder / "report.html")
    return [out / "study.json", report.write(out / "report.html", manifest)]


def _left_out(stages: Sequence[Done]) -> str:
    if any(name == "finetune" for name, *_ in stages):
        return "fine-tuning included."
    return "fine-tuning is left out (--with finetune)."
