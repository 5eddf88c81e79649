"""The report of a fine-tuning."""

from __future__ import annotations

import math

from whyrank.evaluation.estimate import is_significant, p_text, significance_text
from whyrank.learning.figures import Curve, loss_curves, means_figure
from whyrank.learning.finetuning.jobs import COLLECTION
from whyrank.learning.finetuning.results import FineTuning
from whyrank.learning.report import differences_table, history_data, means_data, means_table
from whyrank.learning.tables import Difference
from whyrank.pages.numbers import counted
from whyrank.pages.page import Cell, Report

#: The paper's names of the conditions.
PAPER = {"full": "A1", "aligned-full": "A2", "embeddings": "B1", "aligned-embeddings": "B2"}
#: What it finds of two of them.
CLAIMS = {
    ("aligned-embeddings", "embeddings"): "B2 (aligned-embeddings) is above B1 (embeddings)",
    ("embeddings", "full"): "B1 (embeddings) is about equal to A1 (full)",
}


def finetuning_page(tuning: FineTuning) -> Report:
    """The page: the verdict, the test means, the differences, the paper's findings, and how it was trained."""
    sizes, settings = {part: len(qids) for part, qids in tuning.split}, tuning.settings
    page = Report(
        f"Fine-tuning {tuning.ranker} on {tuning.collection}",
        f"{sizes['train']} queries to learn from, {sizes['validation']} to choose the epoch by, {sizes['test']} "
        f"to test on; {counted(settings.seeds, 'seed')}.",
        tuning.verdict(),
    )
    figures, curves = finetuning_figures(tuning), _curves(tuning)
    page.heading("Test means")
    caption = "Test means with 95% intervals over queries; small marks are seeds."
    page.figure(figures["means"], caption, means_data(tuning.means), "means")
    means_table(page, tuning.means, settings.conditions)
    page.heading("Differences")
    differences_table(page, tuning.differences)
    page.heading("The paper's findings")
    _findings(page, tuning)
    page.heading("Learning")
    names = [f"{one.condition}\t{one.seed}" for one in tuning.models]
    page.figure(
        figures["curves"], _curves_caption(tuning), history_data(curves, names, ["condition", "seed"]), "curves"
    )
    page.heading("How it was trained")
    page.paragraph(tuning.judgements.text())
    _settings(page, tuning)
    return page


def finetuning_figures(tuning: FineTuning) -> dict[str, str]:
    """Both figures as SVG, by name."""
    means = means_figure(tuning.means, tuning.settings.conditions)
    return {"curves": loss_curves(_curves(tuning), tuning.select), "means": means}


def paper_findings(tuning: FineTuning) -> list[tuple[str, str]]:
    """Each finding of the paper (on NFCorpus) that this run speaks to, with what was found here."""
    rows: list[tuple[str, str]] = []
    means = {row.name: row.mean.value for row in tuning.means if row.measure == "nDCG@1"}
    trained = {name: mean for name, mean in means.items() if name in PAPER and mean is not None}
    if len(trained) == len(PAPER):
        best = [PAPER[name] for name, mean in trained.items() if math.isclose(mean, max(trained.values()))]
        shown = f"{best[0]} has" if len(best) == 1 else f"{', '.join(best)} alike have"
        rows.append(("A2 (aligned-full) has the best nDCG@1", f"{shown} the best, {max(trained.values()):.4f}"))
    for pair, claim in CLAIMS.items():
        mine = [one for one in tuning.differences if (one.of, one.against) == pair]
        rows += [(claim, f"{one.measure}: {one.value}, {_significance(one)}") for one in mine]
    return rows


def _significance(one: Difference) -> str:
    p = one.comparison.p_holm
    if p is None:
        return significance_text(None)
    return f"p {p_text(p)}{'' if is_significant(p) else ', not significant'}"


def _findings(page: Report, tuning: FineTuning) -> None:
    rows: list[list[Cell]] = [[claim, here] for claim, here in paper_findings(tuning)]
    if rows:
        page.table(["the paper, on NFCorpus", "here"], rows, "Differences: the first named less the second.")
    else:
        page.paragraph("The paper compares conditions that were not trained here.")


def _curves(tuning: FineTuning) -> list[Curve]:
    return [Curve(one.condition, one.history, one.chosen) for one in tuning.models]


def _curves_caption(tuning: FineTuning) -> str:
    return (
        f"One line per seed. A ring marks the epoch that validation {tuning.select} chose; epoch 0 is the model "
        "before training, aligned where the condition says so."
    )


def _settings(page: Report, tuning: FineTuning) -> None:
    settings = tuning.settings
    each = "all" if settings.positives is None else f"at most {settings.positives} per query"
    source = (
        "all documents of the collection"
        if settings.negatives_from == COLLECTION
        else f"the first stage's top {settings.depth}"
    )
    page.paragraph(
        f"AdamW at {settings.rate:g} with a warm-up over the first tenth of the steps and a linear decay, in "
        f"batches of {settings.batch}, {settings.epochs} epochs at most; squared error of the logit's sigmoid. "
        f"Of {tuning.positives} positives (grade {settings.positive} or more) each epoch has {each}, with up to "
        f"{settings.negatives} negatives each, drawn anew from {source}: {tuning.pairs} pairs. Texts "
        f"are cut at {settings.max_length} tokens."
    )
    if tuning.aligned_tokens is not None:
        page.paragraph(
            f"Aligned: U_0 of the embedding matrix set to the IDF of the {tuning.aligned_tokens} tokens that the "
            "collection's documents hold."
        )
    if tuning.dropped_queries:
        page.paragraph(
            f"Dropped {counted(tuning.dropped_queries, 'judged query', 'judged queries')} without a relevant "
            "document in the collection or without candidates."
        )
