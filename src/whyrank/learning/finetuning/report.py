"""The report of a fine-tuning, from finetune.json."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from whyrank.core.atomic import write_json, write_text
from whyrank.evaluation.estimate import SIGNIFICANT, is_significant, p_text, row_text, significance_text
from whyrank.evaluation.interval import FEWEST_QUERIES
from whyrank.learning.judgements import judgements_used
from whyrank.learning.tables import by_measure, mean_text
from whyrank.pages.numbers import counted
from whyrank.pages.page import Cell, Report
from whyrank.plots.style import QUIET, SERIES, as_svg, bare, drawing

#: The paper's names of the conditions.
PAPER = {"full": "A1", "aligned-full": "A2", "embeddings": "B1", "aligned-embeddings": "B2"}
#: What it finds of two of them.
CLAIMS = {
    ("aligned-embeddings", "embeddings"): "B2 (aligned-embeddings) is above B1 (embeddings)",
    ("embeddings", "full"): "B1 (embeddings) is about equal to A1 (full)",
}
Told = dict[str, Any]


def write_finetune(told: Told, folder: Path, manifest: dict[str, Any]) -> list[Path]:
    """finetune.json, the figures and report.html."""
    paths = [folder / "finetune.json", folder / "curves.svg", folder / "means.svg"]
    curves, means = learning_curves(told["runs"], told["chooses"]), mean_bars(told["table"])
    write_json(paths[0], told)
    write_text(paths[1], curves)
    write_text(paths[2], means)
    return [*paths, _report(told, curves, means).write(folder / "report.html", manifest)]


def verdict(told: Told) -> list[str]:
    """What the differences come to, a sentence each; plainly so when nothing is more than chance."""
    queries = len(told["split"]["test"])
    families = {
        "conditions": ("between the conditions", "No difference between the conditions"),
        "training": ("to the untrained ranker", "No condition's difference to the untrained ranker"),
    }
    found: list[str] = []
    for family, (where, nothing) in families.items():
        mine = [row for row in told["differences"] if row["family"] == family]
        sure = [row for row in mine if is_significant(row["p_holm"])]
        if mine and all(row["p_holm"] is None for row in mine):
            found.append(
                f"{nothing} can be tested: {queries} test queries are too few, {FEWEST_QUERIES} are needed."
            )
        elif mine and not sure:
            found.append(f"{nothing} is significant at {SIGNIFICANT} (Holm) on {queries} test queries.")
        elif sure:
            listed = "; ".join(f"{_name(row)} {_with(row, 'difference', '+')}" for row in sure)
            found.append(f"Significant at {SIGNIFICANT} (Holm) {where}, on {queries} test queries: {listed}.")
    idle = [run for run in told["runs"] if run["chosen"] == 0]
    if idle:
        found.append(
            f"In {len(idle)} of {counted(len(told['runs']), 'training')} no epoch did better on the validation "
            "queries than the start, which was kept."
        )
    return found


def beside_the_paper(told: Told) -> list[tuple[str, str]]:
    """Each finding of the paper (on NFCorpus) that this run speaks to, with what was found here."""
    rows: list[tuple[str, str]] = []
    first = {row["name"]: row["mean"] for row in told["table"] if row["measure"] == "nDCG@1"}
    trained = {name: mean for name, mean in first.items() if name in PAPER}
    if len(trained) == len(PAPER):
        best = [PAPER[name] for name, mean in trained.items() if math.isclose(mean, max(trained.values()))]
        shown = f"{best[0]} has" if len(best) == 1 else f"{', '.join(best)} alike have"
        rows.append(("A2 (aligned-full) has the best nDCG@1", f"{shown} the best, {max(trained.values()):.4f}"))
    for pair, claim in CLAIMS.items():
        mine = [row for row in told["differences"] if (row["of"], row["against"]) == pair]
        rows += [(claim, f"{row['measure']}: {_with(row, 'difference', '+')}, {_chance(row)}") for row in mine]
    return rows


def _report(told: Told, curves: str, means: str) -> Report:
    split = {part: len(qids) for part, qids in told["split"].items()}
    report = Report(
        f"Fine-tuning {told['ranker']} on {told['collection']}",
        f"{split['train']} queries to learn from, {split['validation']} to choose by, {split['test']} to test on; "
        f"{counted(len(told['settings']['seeds']), 'seed')}; 95% intervals over test queries.",
    )
    report.heading("What was found")
    for sentence in verdict(told):
        report.paragraph(sentence)
    report.figure(means, "Test means, a bar the 95% interval over queries, a small mark a seed.", _data(told))
    report.table(*_table(told))
    report.heading("Differences")
    report.table(*_differences(told))
    report.heading("Beside the paper")
    _beside(report, told)
    report.heading("Learning")
    caption = (
        f"A line a seed. A ring marks the epoch that validation {told['chooses']} chose; epoch 0 is the model "
    )
    report.figure(curves, caption + "before training, aligned where the condition says so.", _history(told))
    report.heading("How it was trained")
    report.paragraph(judgements_used(told["judgements"]))
    _settings(report, told)
    return report


def _table(told: Told) -> tuple[list[str], list[list[Cell]], str]:
    measures, named = by_measure(told["table"])
    rows: list[list[Cell]] = []
    for name, mine in named.items():
        cells = [mean_text(row) for row in mine]
        seeds = [" ".join(f"{value:.4f}" for value in row["by_seed"]) for row in mine]
        chosen = " ".join(str(run["chosen"]) for run in told["runs"] if run["condition"] == name)
        rows.append([name, PAPER.get(name), *cells, *(seeds if name in PAPER else ["–"] * len(seeds)), chosen])
    columns = ["ranker", "the paper's", *measures, *(f"{m} by seed" for m in measures), "chosen epochs"]
    return (
        columns,
        rows,
        "Means over the test queries, the seeds of a query averaged first; in brackets 95% intervals.",
    )


def _differences(told: Told) -> tuple[list[str], list[list[Cell]], str]:
    rows: list[list[Cell]] = [
        [
            f"{row['of']} - {row['against']}", row["measure"], _with(row, "difference", "+"),
            p_text(row["p"], row["queries"]), p_text(row["p_holm"], row["queries"]),
        ]
        for row in told["differences"]
    ]  # fmt: skip
    caption = "Paired over the test queries, seeds averaged. p: Student's t, then Holm-corrected, for comparisons "
    caption += "between conditions and for those with the untrained ranker apart."
    return ["difference", "measure", "mean", "p", "p (Holm)"], rows, caption


def _beside(report: Report, told: Told) -> None:
    rows: list[list[Cell]] = [[claim, here] for claim, here in beside_the_paper(told)]
    if rows:
        report.table(["the paper, on NFCorpus", "here"], rows, "Differences: the first named less the second.")
    else:
        report.paragraph("The paper compares conditions that were not trained here.")


def _settings(report: Report, told: Told) -> None:
    settings, pairs = told["settings"], told["pairs"]
    report.paragraph(
        f"AdamW at {settings['rate']:g} with a warm-up over the first tenth of the steps and a linear decay, in "
        f"batches of {settings['batch']}, {settings['epochs']} epochs at most; squared error of the logit's "
        f"sigmoid. Each epoch has {pairs['positives']} positives (grade {settings['positive']} or more) with "
        f"up to {settings['negatives']} negatives each, drawn anew from the first stage's top {settings['k']}: "
        f"{pairs['examples']} examples. Texts are cut at {settings['max_length']} tokens."
    )
    if told["aligned_tokens"] is not None:
        report.paragraph(
            f"Aligned: U_0 of the embedding matrix set to the IDF of the {told['aligned_tokens']} tokens that the "
            "collection's documents hold."
        )
    if told["left_out"]:
        report.paragraph(
            f"Left out: {told['left_out']} judged queries without a relevant document in the collection or "
            "without candidates."
        )


def _data(told: Told) -> tuple[list[str], list[list[Cell]]]:
    columns = ["name", "measure", "mean", "low", "high", "queries"]
    return columns, [[row[column] for column in columns] for row in told["table"]]


def _history(told: Told) -> tuple[list[str], list[list[Cell]]]:
    return ["condition", "seed", "epoch", "loss", "validation"], [
        [run["condition"], run["seed"], row["epoch"], row["loss"], row["validation"]]
        for run in told["runs"]
        for row in run["history"]
    ]


def _name(row: Told) -> str:
    return f"{row['of']} - {row['against']}, {row['measure']}:"


def _with(row: Told, value: str, sign: str = "") -> str:
    return row_text(row, value, f"{sign}.4f")


def _chance(row: Told) -> str:
    if row["p_holm"] is None:
        return significance_text(None)
    return f"p {p_text(row['p_holm'])}{'' if is_significant(row['p_holm']) else ', not significant'}"


Run = dict[str, Any]


def learning_curves(runs: Sequence[Run], chooses: str) -> str:
    """Two panels over the epochs, a colour a condition, a line a seed; a ring at the epoch that was chosen."""
    conditions = list(dict.fromkeys(run["condition"] for run in runs))
    panels = (("loss", "training loss"), ("validation", f"validation {chooses}"))
    with drawing(9.0, 3.2) as figure:
        for axes, (what, title) in zip(figure.subplots(1, 2), panels, strict=True):
            bare(axes).set_title(title, loc="left")
            axes.set_xlabel("epoch")
            axes.locator_params(axis="x", integer=True)
            for run in runs:
                points = [(row["epoch"], row[what]) for row in run["history"] if row[what] is not None]
                colour = SERIES[conditions.index(run["condition"]) % len(SERIES)]
                axes.plot(*zip(*points, strict=True), color=colour, linewidth=1.1, marker=".", markersize=3)
                if what == "validation":
                    chosen = run["history"][run["chosen"]]
                    axes.plot(chosen["epoch"], chosen[what], "o", color=colour, fillstyle="none", markersize=8)
        for number, name in enumerate(conditions):
            axes.plot([], [], color=SERIES[number % len(SERIES)], label=name)
        figure.legend(loc="outside lower right", ncols=len(conditions))
        return as_svg(figure)


def mean_bars(table: Sequence[dict[str, Any]]) -> str:
    """A panel a measure: each row's mean with its interval, and a small mark a seed."""
    measures = list(dict.fromkeys(row["measure"] for row in table))
    names = list(dict.fromkeys(row["name"] for row in table))
    with drawing(9.0, 0.9 + 0.36 * len(names)) as figure:
        columns = figure.subplots(1, len(measures), sharey=True, squeeze=False)[0]
        for axes, measure in zip(columns, measures, strict=True):
            bare(axes).set_title(f"test {measure}", loc="left")
            for row in (row for row in table if row["measure"] == measure):
                place = names.index(row["name"])
                if row["low"] is not None:
                    axes.plot([row["low"], row["high"]], [place, place], color=SERIES[0], linewidth=2)
                axes.plot(row["by_seed"], [place + 0.2] * len(row["by_seed"]), "|", color=QUIET, markersize=6)
                axes.plot(row["mean"], place, "o", color=SERIES[0], markersize=5)
        columns[0].set_yticks(range(len(names)), names)
        columns[0].set_ylim(len(names) - 0.4, -0.6)
        return as_svg(figure)
