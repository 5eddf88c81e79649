"""The report of the two-token experiment: the edit of one word against changes that are as large."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from whyrank.edits.figures import Curve, scale_curves
from whyrank.edits.report import RESULT, dial_in_words, with_count, write_result
from whyrank.pages.page import Cell, Figures, Report
from whyrank.plots.style import QUIET, SERIES


def write_experiment(told: dict[str, Any], folder: Path, manifest: dict[str, Any]) -> list[Path]:
    """edit.json, the figures and report.html of the two-token experiment."""
    figures = experiment_figures(told)
    paths = write_result(told, folder, RESULT, figures)
    report = Report(
        f"Is U0 an IDF? Two-token documents, {told['ranker']}",
        f"{told['items']} pairs of words from {told['queries']} queries of {told['collection']}: doc1 is the "
        f"edited word {told['times']} times, doc2 the other; rule '{told['rule']}'; intervals over "
        "queries.",
    )
    report.heading("The edit")
    report.figure(*figures["edit"])
    if "attention" in figures:
        report.figure(*figures["attention"])
    report.heading("Its controls")
    report.paragraph(
        "Each control moves the rows as far as the edit does: along the next singular vectors or along random "
        "directions; or it scales the whole row, up as far as the edit moves it, down by the inverse factor. What "
        "the edit does beyond its controls is in the column 'edit less control'."
    )
    report.figure(*figures["controls"])
    columns = ["control", "direction", "scale", "doc1", "edit less control", "doc2", "doc1 above doc2"]
    rows: list[list[Cell]] = [
        [
            row["control"], row["direction"], f"{row['scale']:g}", with_count(row["doc1"], "+.3f"),
            with_count(row["edit_less"], "+.3f") if row["edit_less"] else None,
            with_count(row["doc2"], "+.3f"), with_count(row["doc1_above"], ".2f"),
        ]
        for row in told["curves"]
    ]  # fmt: skip
    report.table(columns, rows, "Scores, from the unscaled doc1 on; the share of pairs with doc1 above doc2.")
    report.heading("Where the sign comes from")
    report.paragraph(dial_in_words(told["dial"]))
    return [*paths, report.write(folder / "report.html", manifest)]


def experiment_figures(told: Mapping[str, Any]) -> Figures:
    def curve(control: str, direction: str, what: str, name: str, colour: str) -> Curve:
        rows = [r for r in told["curves"] if (r["control"], r["direction"]) == (control, direction)]
        scales, values, is_edit = [row["scale"] for row in rows], [row[what] for row in rows], control == "U0"
        return Curve(name, scales, values, colour, "-" if is_edit else "--", band=is_edit)

    directions = {"up": "up: taken for rarer", "down": "down: taken for more common"}
    names = list(dict.fromkeys(row["control"] for row in told["curves"]))
    edit = {
        title: [curve("U0", d, "doc1", "doc1 (edited word)", SERIES[0]), curve("U0", d, "doc2", "doc2", SERIES[1])]
        for d, title in directions.items()
    }
    looks = {"U0": ("U0", SERIES[0]), "U1": ("U1", SERIES[1]), "U2": ("U2", SERIES[2]), "row": ("row", SERIES[3])}
    controls = {
        title: [curve(name, d, "doc1", *looks.get(name, ("random", QUIET))) for name in names]
        for d, title in directions.items()
    }
    data = _curve_data(told)
    caption = "Mean score of the two documents as U0 of the edited word is turned; the unscaled doc1 is 0."
    found: Figures = {"edit": (scale_curves(edit, "score - unscaled doc1"), caption, data)}
    caption = (
        "doc1 under the edit, with its interval, and under changes that are as large, along other directions."
    )
    found["controls"] = (scale_curves(controls, "doc1 - unscaled doc1"), caption, data)
    if told["head"]:
        looking = {title: [curve("U0", d, "attention", "[CLS]", SERIES[2])] for d, title in directions.items()}
        caption = f"What [CLS] of head {told['head']} reads of the edited word in the query, with doc1."
        found["attention"] = (scale_curves(looking, "attention"), caption, data)
    return found


def _curve_data(told: Mapping[str, Any]) -> tuple[list[str], list[list[Cell]]]:
    parts = ("doc1", "doc2", "doc1_above", "attention")
    columns = [
        "control",
        "direction",
        "scale",
        *(f"{p} {end}".strip() for p in parts for end in ("", "low", "high")),
    ]
    rows: list[list[Cell]] = []
    for row in told["curves"]:
        ends = [(row[part] or {}).get(key) for part in parts for key in ("value", "low", "high")]
        rows.append([row["control"], row["direction"], row["scale"], *ends])
    return columns, rows
