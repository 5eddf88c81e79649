"""What `whyrank study disentangled` writes: study.json, the figures, and one page with everything."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from whyrank.core.atomic import write_json, write_text
from whyrank.pages.findings import beside_table
from whyrank.pages.numbers import counted, span
from whyrank.pages.page import Figures, Report
from whyrank.papers.disentangled import opened_report as opened
from whyrank.papers.disentangled.paper import TITLES, findings
from whyrank.papers.disentangled.report_figures import disentangled_figures
from whyrank.papers.disentangled.report_tables import collection_table, effectiveness, length_table, verdicts
from whyrank.papers.disentangled.trainings_report import rank_losses, trainings

RESULT = "study.json"
Told = Mapping[str, Any]
#: What a model of passages is where a document has only one.
ONE_PASSAGE = {
    "BERT-MaxP": "it is BERT but for where the passage ends",
    "PARADE": "it has nothing to put together",
}
NOTE = (
    "The paper's numbers are of Robust04 and WebTrack09-12, with its own backbone and 20 epochs: they are shown, "
    "and only which of two models is the better is compared. A verdict is given where our difference is "
    "significant; where it is not, our data do not tell, which is no finding against the paper. Rows with one "
    "seed are one training: the tests are over queries, and say nothing of what another seed would have given."
)


def write_study(told: dict[str, Any], out: Path, manifest: dict[str, Any]) -> list[Path]:
    """study.json with the findings, a figure a file, report.html."""
    rows = findings(told)
    told = {**told, "findings": [asdict(row) for row in rows]}
    write_json(out / RESULT, told)
    figures, paths = disentangled_figures(told), [out / RESULT]
    for name, (svg, _, _) in figures.items():
        write_text(out / f"{name}.svg", svg)
        paths.append(out / f"{name}.svg")
    report = Report(f"DGRe and its baselines on {told['collection']}", lead(told))
    report.heading("What was found")
    if told["quick"]:
        report.paragraph("These sizes are for a first look: intervals are wide, and hardly anything is learned.")
    for sentence in statement(told):
        report.paragraph(sentence)
    beside_table(
        report, rows,
        "Agrees, differs: the order of the two models is significant here, and is the paper's or its contrary; "
        "–: it is not significant, or there is nothing to test.",
    )  # fmt: skip
    report.paragraph(NOTE)
    _tables(report, told, figures)
    _pictures(report, told, figures)
    _opened(report, told, figures)
    trainings(report, told)
    return [*paths, report.write(out / "report.html", manifest)]


def lead(told: Told) -> str:
    """On what, from what, how much."""
    folds, size = told["folds"], told["sizes"]
    sizes = {part: span([fold[part] for fold in folds]) for part in ("train", "validation", "test")}
    split = "a fixed test" if told["fixed_test"] else counted(len(folds), "fold")
    tested = sum(fold["test"] for fold in folds)
    together = f", in all folds together {tested}" if len(folds) > 1 else ""
    return (
        f"Backbone {told['backbone']}; {split}: {sizes['train']} queries to learn from, {sizes['validation']} to "
        f"choose the epoch by ({told['select']}), {sizes['test']} to test on{together}; candidates: "
        f"{told['first_stage']}; "
        f"{counted(size['chunks'], 'sequence')} of {size['max_length']} tokens of a document; "
        f"{counted(size['epochs'], 'epoch')}; "
        f"{counted(size['seeds'], 'seed')} of BERT and DGRe, {size['other_seeds']} of the others."
    )


def statement(told: Told) -> list[str]:
    """In words: what is significant, and what is not."""
    found = []
    if told["to_do"]:
        every = len(told["trainings"]) + len(told["lacking"]) + len(told["to_do"])
        found.append(
            f"Not finished: {len(told['to_do'])} of {every} models and variants are still to be trained; their "
            "rows are lacking. With them the corrected p-values below will change."
        )
    for part, table in told["tables"].items():
        if table:
            found += verdicts(part, table["differences"])
    found += [
        f"{name} could not be trained, its rows are lacking: {why}." for name, why in told["lacking"].items()
    ]
    audit = told.get("opened", {}).get("audits", {})
    if "axioms" in audit:
        found += opened.audit_verdict(audit["axioms"])
    if told["sizes"]["depth"] <= 20 and "P@20" in told["measures"]:
        found.append(f"P@20 is the same for all models: a query has {told['sizes']['depth']} candidates.")
    found += rank_losses(told)
    found += [f"{name} reads one passage of a document here: {ONE_PASSAGE[name]}." for name in told["one_passage"]]
    if told["cut_queries"]:
        found.append(
            f"{told['cut_queries']} of the {sum(fold['test'] for fold in told['folds'])} test queries are longer "
            "than half a sequence: transformers read their beginning, the first stage and models on words all of "
            "them. These are among the long queries of Table 6."
        )
    idle = sum(one["idle"] for one in told["trainings"])
    every = sum(len(one["chosen"]) for one in told["trainings"])
    if idle:
        found.append(
            f"In {idle} of {every} trainings no epoch did better on the validation queries than the untrained "
            "model, which was then tested."
        )
    return found


def _tables(report: Report, told: Told, figures: Figures) -> None:
    if "collection_numbers" in told:
        report.heading("Table 1: the collection")
        collection_table(report, told)
    for part in ("table2", "table3", "table4", "table5", "layers"):
        if told["tables"].get(part):
            report.heading(TITLES[part])
            if part == "table2" and "means" in figures:
                report.figure(*figures["means"], name="means")
            effectiveness(report, told, part)
    if "table6" in told["tables"]:
        report.heading(TITLES["table6"])
        length_table(report, told)


def _pictures(report: Report, told: Told, figures: Figures) -> None:
    if "figures" in told:
        report.heading("Figures 6 to 8: one query looked at")
        if opened.lacking(report, told["figures"]):
            return
        for name in ("word-graphs", "t-sne"):
            if name in figures:
                report.figure(*figures[name], name=name)
        opened.t_sne_table(report, told)


def _opened(report: Report, told: Told, figures: Figures) -> None:
    titles: dict[str, tuple[str, str, Callable[[Report, Told], None]]] = {
        "audits": ("Opened: which axioms improve", "axioms", opened.audits),
        "heads": ("Opened: heads before and after training", "heads", opened.heads),
        "attention": ("Opened: attention on spurious relations", "attention", opened.attention),
    }
    for part, one in told.get("opened", {}).items():
        title, figure, write = titles[part]
        report.heading(title)
        if not opened.lacking(report, one):
            if figure in figures:
                report.figure(*figures[figure], name=figure)
            write(report, one)
