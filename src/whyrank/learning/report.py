"""The report of a training, from train.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from whyrank.core.atomic import write_json, write_text
from whyrank.evaluation.estimate import SIGNIFICANT, p_text, row_text, significance_text
from whyrank.learning.figures import fold_means, loss_curves, loss_names, value_of
from whyrank.learning.judgements import judgements_used
from whyrank.learning.tables import by_measure, mean_text
from whyrank.pages.numbers import counted, span
from whyrank.pages.page import Cell, Report

Told = dict[str, Any]


def write_train(told: Told, folder: Path, manifest: dict[str, Any]) -> list[Path]:
    """train.json, the figures and report.html."""
    paths = [folder / "train.json", folder / "curves.svg", folder / "means.svg"]
    curves = loss_curves(told["runs"], told["settings"]["training"]["select"], told["to_beat"])
    means = fold_means(told["by_fold"], told["table"], told["model"])
    write_json(paths[0], told)
    write_text(paths[1], curves)
    write_text(paths[2], means)
    return [*paths, _report(told, curves, means).write(folder / "report.html", manifest)]


def verdict(told: Told) -> list[str]:
    """What the differences to the first stage come to; plainly so when nothing is more than chance."""
    queries = told["table"][0]["queries"]
    found = []
    for row in told["differences"]:
        shown = row_text(row, "difference", "+.4f")
        what = f"{row['of']} - {row['against']}, {row['measure']}: {shown}"
        chance = significance_text(row["p_holm"])
        if row["p_holm"] is None:
            found.append(f"{what}, {chance} on {queries} test queries.")
        else:
            p = p_text(row["p_holm"])
            found.append(f"{what}, p {p} (Holm), {chance} at {SIGNIFICANT} on {queries} test queries.")
    idle = [run for run in told["runs"] if run["chosen"] == 0]
    if idle:
        found.append(
            f"In {len(idle)} of {len(told['runs'])} trainings no epoch did better on the validation queries than "
            "the untrained model, which was kept."
        )
    return found


def _report(told: Told, curves: str, means: str) -> Report:
    sizes = {part: [len(fold[part]) for fold in told["folds"]] for part in ("train", "validation", "test")}
    report = Report(
        f"Training {told['model']} on {told['collection']}",
        f"Backbone {told['backbone']}; {counted(len(told['folds']), 'fold')} of {span(sizes['train'])} queries "
        f"to learn from, {span(sizes['validation'])} to choose by and {span(sizes['test'])} to test on; "
        f"{counted(len(told['seeds']), 'seed')}; 95% intervals over test queries.",
    )
    report.heading("What was found")
    for sentence in verdict(told):
        report.paragraph(sentence)
    report.table(*_table(told))
    report.heading("Folds and seeds")
    report.figure(means, "Test means with 95% intervals over queries, each fold and seed, and all.", _data(told))
    report.table(*_by_fold(told))
    report.heading("Learning")
    caption = (
        f"A line a seed. A ring marks the epoch that validation {told['settings']['training']['select']} chose; "
        "epoch 0 is the model before training; dashed is the first stage on the validation queries."
    )
    report.figure(curves, caption, _history(told))
    report.heading("How it was trained")
    report.paragraph(judgements_used(told["judgements"]))
    _settings(report, told)
    return report


def _table(told: Told) -> tuple[list[str], list[list[Cell]], str]:
    measures, named = by_measure(told["table"])
    rows: list[list[Cell]] = []
    for name, mine in named.items():
        seeds = [" ".join(f"{value:.4f}" for value in row["by_seed"]) for row in mine]
        shown = seeds if name == told["model"] else ["–"] * len(seeds)
        rows.append([name, *map(mean_text, mine), *shown])
    columns = ["ranker", *measures, *(f"{measure} by seed" for measure in measures)]
    caption = "Means over the test queries of all folds, the seeds of a query averaged first; 95% intervals."
    return columns, rows, caption


def _by_fold(told: Told) -> tuple[list[str], list[list[Cell]], str]:
    measures = list(dict.fromkeys(row["measure"] for row in told["by_fold"]))
    found = {(row["fold"], row["seed"], row["measure"]): row for row in told["by_fold"]}
    rows: list[list[Cell]] = []
    for run in told["runs"]:
        mine = [found[run["fold"], run["seed"], measure] for measure in measures]
        cells = list(map(mean_text, mine))
        validation = run["history"][run["chosen"]]["validation"]
        rows.append([run["fold"], run["seed"], mine[0]["queries"], *cells, run["chosen"], f"{validation:.4f}"])
    columns = ["fold", "seed", "queries", *measures, "chosen epoch", "validation"]
    return columns, rows, "Test means of each training, after the epoch that its validation queries chose."


def _settings(report: Report, told: Told) -> None:
    report.paragraph(
        f"Candidates: {told['first_stage']}. Pairs of a better and a worse document an epoch: "
        f"{span(told['pairs'])}. Worse is what has a lower grade; what nobody judged counts as 0. AdamW with a "
        "warm-up and a linear decay, at two learning rates: backbone_rate for what is pre-trained, rate for what "
        "starts anew."
    )
    if told["not_found"]:
        report.paragraph(
            f"{told['not_found']} of {told['queries']} judged queries have no candidates; they count as 0."
        )
    if told["cut_queries"]:
        report.paragraph(
            f"{told['cut_queries']} of {told['queries']} queries are longer than half a sequence: only their "
            "beginning is read."
        )
    if told["repeated_queries"]:
        report.paragraph(
            f"{counted(told['repeated_queries'], 'query asks', 'queries ask')} in the same words as another: left "
            "out of what is learned from or chosen by where the other is tested."
        )
    for part, title in (("training", "Of the training"), ("model", f"Of {told['model']}")):
        values: list[list[Cell]] = [[name, json.dumps(value)] for name, value in told["settings"][part].items()]
        report.table(["setting", "value"], values, f"{title}.")


def _data(told: Told) -> tuple[list[str], list[list[Cell]]]:
    columns = ["fold", "seed", "measure", "mean", "low", "high", "queries"]
    rows: list[list[Cell]] = [[row[column] for column in columns] for row in told["by_fold"]]
    rows += [["all", row["name"], *(row[column] for column in columns[2:])] for row in told["table"]]
    return columns, rows


def _history(told: Told) -> tuple[list[str], list[list[Cell]]]:
    panels = ["loss", *loss_names(told["runs"]), "validation"]
    return ["fold", "seed", "epoch", *panels, "first stage"], [
        [
            run["fold"],
            run["seed"],
            row["epoch"],
            *(value_of(row, panel) for panel in panels),
            told["to_beat"][run["fold"] - 1],
        ]
        for run in told["runs"]
        for row in run["history"]
    ]
