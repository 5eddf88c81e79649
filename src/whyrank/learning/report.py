"""The report of a training."""

from __future__ import annotations

import json
from collections.abc import Sequence

from whyrank.learning.figures import Curve, loss_curves, loss_names, means_figure, value_of
from whyrank.learning.history import Epoch
from whyrank.learning.results import Training
from whyrank.learning.tables import TESTED, Difference, Mean, by_measure
from whyrank.pages.numbers import counted, span
from whyrank.pages.page import Cell, Data, Report

HOW = (
    "Worse is what has a lower grade; what nobody judged counts as 0. AdamW with a warm-up and a linear decay, at "
    "two learning rates: backbone_rate for what is pre-trained, rate for what starts anew."
)


def training_page(training: Training) -> Report:
    """The page: the verdict, the test means, the differences, the curves, and how it was trained."""
    sizes = [
        span([len(dict(split)[part]) for split in training.folds]) for part in ("train", "validation", "test")
    ]
    page = Report(
        f"Training {training.model} on {training.collection}",
        f"Backbone {training.backbone}; {counted(len(training.folds), 'fold')} of {sizes[0]} queries to learn "
        f"from, {sizes[1]} to choose the epoch by and {sizes[2]} to test on; "
        f"{counted(len(training.seeds), 'seed')}.",
        training.verdict(),
    )
    figures = training_figures(training)
    page.heading("Test means")
    caption = "Test means with 95% intervals over queries: each fold and seed, then all folds."
    page.figure(figures["means"], caption, means_data(training.mean_rows()), "means")
    means_table(page, training.means, [training.model])
    differences_table(page, training.differences)
    page.heading("Folds and seeds")
    _by_fold(page, training)
    page.heading("Learning")
    page.figure(figures["curves"], _curves_caption(training), _history(training), "curves")
    page.heading("How it was trained")
    page.paragraph(training.judgements.text())
    _candidates(page, training)
    _settings(page, training)
    return page


def training_figures(training: Training) -> dict[str, str]:
    """Both figures as SVG, by name."""
    curves = loss_curves(_curves(training), training.settings.training.select, training.to_beat)
    folds = [one.name for one in training.models]
    return {"curves": curves, "means": means_figure(training.mean_rows(), [training.model], folds)}


def means_table(page: Report, rows: Sequence[Mean], trained: Sequence[str]) -> None:
    """One row per ranker and measure; the means of the seeds of those that are trained."""
    cells: list[list[Cell]] = [
        [row.name, row.measure, row.text(), _seeds(row.by_seed) if row.name in trained else "–", row.mean.queries]
        for row in rows
    ]
    caption = "Means over the test queries, the seeds of a query averaged first; in brackets 95% intervals."
    page.table(["ranker", "measure", "mean", "by seed", "queries"], cells, caption)


def differences_table(page: Report, rows: Sequence[Difference]) -> None:
    """One row per comparison and measure."""
    from whyrank.evaluation.estimate import p_text, yes_or_no

    cells: list[list[Cell]] = [
        [
            one.pair, one.measure, one.value, p_text(one.comparison.p, one.comparison.difference.queries),
            p_text(one.comparison.p_holm, one.comparison.difference.queries), yes_or_no(one.comparison.p_holm),
        ]
        for one in rows
    ]  # fmt: skip
    page.table(["difference", "measure", "mean", "p", "p (Holm)", "significant"], cells, TESTED)


def means_data(rows: Sequence[Mean]) -> Data:
    """What a figure of means shows."""
    columns = ["name", "measure", "mean", "low", "high", "queries"]
    return columns, [
        [row.name, row.measure, row.mean.value, row.mean.low, row.mean.high, row.mean.queries] for row in rows
    ]


def history_data(curves: Sequence[Curve], names: Sequence[str], columns: Sequence[str]) -> Data:
    """What a figure of curves shows: `names` says whose each curve is, in these `columns`, with tabs between."""
    panels = ["loss", *loss_names(curves), "validation"]
    rows: list[list[Cell]] = [
        [*name.split("\t"), epoch.epoch, *_values(epoch, panels)]
        for name, curve in zip(names, curves, strict=True)
        for epoch in curve.history
    ]
    return [*columns, "epoch", *panels], rows


def _values(epoch: Epoch, panels: Sequence[str]) -> list[float | None]:
    return [value_of(epoch, panel) for panel in panels]


def _curves(training: Training) -> list[Curve]:
    return [Curve(f"fold {one.fold}", one.history, one.chosen) for one in training.models]


def _curves_caption(training: Training) -> str:
    return (
        f"One line per seed. A ring marks the epoch that validation {training.settings.training.select} chose; "
        "epoch 0 is the model before training; dashed is the first stage on the validation queries."
    )


def _history(training: Training) -> Data:
    names = [f"{one.fold}\t{one.seed}" for one in training.models]
    columns, rows = history_data(_curves(training), names, ["fold", "seed"])
    first = [training.to_beat[one.fold - 1] for one in training.models for _ in one.history]
    return [*columns, "first stage"], [[*row, value] for row, value in zip(rows, first, strict=True)]


def _seeds(values: Sequence[float]) -> str:
    return " ".join(f"{value:.4f}" for value in values)


def _by_fold(page: Report, training: Training) -> None:
    measures, _ = by_measure(training.means)
    found = {(one.fold, one.seed, one.measure): one.row() for one in training.by_fold}
    rows: list[list[Cell]] = []
    for one in training.models:
        mine = [found[one.fold, one.seed, measure] for measure in measures]
        means = [row.text() for row in mine]
        rows.append([one.name, mine[0].mean.queries, *means, one.chosen, f"{one.validation:.4f}"])
    caption = "Test means of each training, after the epoch that its validation queries chose."
    page.table(["training", "queries", *measures, "chosen epoch", "validation"], rows, caption)


def _candidates(page: Report, training: Training) -> None:
    page.paragraph(
        f"Candidates: {training.first_stage}. Pairs of a better and a worse document per epoch: "
        f"{span(training.pairs)}. {HOW}"
    )
    of = f"of {counted(training.queries, 'judged query', 'judged queries')}"
    if training.without_candidates:
        page.paragraph(f"{training.without_candidates} {of} have no candidates; they count as 0.")
    if training.cut_queries:
        page.paragraph(
            f"{training.cut_queries} {of} are longer than half a sequence: only their beginning is read."
        )
    if training.repeated_queries:
        page.paragraph(
            f"{counted(training.repeated_queries, 'query asks', 'queries ask')} in the same words as another: "
            "dropped from what is learned from or chosen by where the other is tested."
        )


def _settings(page: Report, training: Training) -> None:
    for values, title in (
        (vars(training.settings.training), "the training"), (training.settings.model, training.model),
    ):  # fmt: skip
        rows: list[list[Cell]] = [[name, json.dumps(value)] for name, value in values.items()]
        page.table(["setting", "value"], rows, folded=f"Settings of {title}")
