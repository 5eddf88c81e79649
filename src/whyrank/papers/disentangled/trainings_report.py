"""What a study of DGRe says of its trainings: how they were told to learn, and how much each model reads."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from whyrank.core.json_file import typed
from whyrank.learning.judgements import JudgementsUsed
from whyrank.pages.page import Cell, Report

Told = Mapping[str, Any]
COLUMNS = (
    "model", "seeds", "folds", "chosen epochs", "untrained kept", "rank loss", "rate", "backbone rate", "tokens",
    "chunks",
)  # fmt: skip


def trainings(report: Report, told: Told) -> None:
    """Links to all of them, their settings, and what is read."""
    report.heading("The trainings")
    size = told["sizes"]
    own = ", ".join(f"{name}={value}" for name, value in told["told"].items())
    report.paragraph(
        f"{len(told['trainings'])} models and variants, each with its own report, losses and validation over the "
        f"epochs. What is new in DRMM and Conv-KNRM learns at {size['word_rate']:g}: it is little, and a "
        "transformer's rate hardly moves it; Conv-KNRM's word vectors are pre-trained, and learn on at the "
        f"backbone rate. {f'Set by hand: {own}. ' if own else ''}At most {size['positives'] or 'all'} relevant "
        "documents of a query are learned from in an epoch."
    )
    for sentence in rank_losses(told):
        report.paragraph(sentence)
    if told.get("judgements"):
        report.paragraph(typed(told["judgements"], JudgementsUsed).text())
    if told["not_found"]:
        report.paragraph(f"{told['not_found']} judged queries have no candidates; they count as 0.")
    items = "".join(
        f'<li><a href="{escape(one["report"])}">{escape(one["title"])}</a></li>' for one in told["trainings"]
    )
    report.html(f"<ul>{items}</ul>")
    caption = "The epoch that validation chose in each training (0 is before training), and how."
    report.table(list(COLUMNS), [_row(one) for one in told["trainings"]], caption)
    if told.get("reading"):
        what_is_read(report, told["reading"])


def rank_losses(told: Told) -> list[str]:
    """Which models learn from a hinge on sigmoids, which from one on scores, where they differ."""
    groups: dict[str, list[str]] = {}
    for one in (one for one in told["trainings"] if one["name"] == one["model"]):
        groups.setdefault(one["settings"]["model"]["rank_loss"], []).append(one["title"])
    if len(groups) < 2:
        return []
    said = "; ".join(f"{loss}: {', '.join(names)}" for loss, names in groups.items())
    return [
        "The rank loss is a hinge on the scores themselves (raw) or on their sigmoids (sigmoid), as each paper "
        f"has it ({said}): a difference between models of the two groups may be the loss's. --set rank_loss=raw "
        "(or sigmoid) gives all the same."
    ]


def what_is_read(report: Report, told: Told) -> None:
    """Document tokens by model, as measured."""
    report.paragraph(
        f"Measured on {told['pairs']} candidates: a query has {told['query_tokens']:.1f} tokens, a word "
        f"{told['pieces_a_word']:.2f} pieces, a document {told['document_tokens']:.1f} tokens."
    )
    rows: list[list[Cell]] = [
        [
            one["model"], f"{one['sequences']:.1f}", f"{one['tokens']:.1f}", f"{one['with_repeats']:.1f}",
            f"{one['share']:.1%}",
        ]
        for one in told["models"]
    ]  # fmt: skip
    columns = ["model", "sequences", "document tokens read", "with those read twice", "share of a document"]
    report.table(columns, rows, "What each model reads of a document, means over those candidates.")


def _row(one: Told) -> list[Cell]:
    training, model = one["settings"]["training"], one["settings"]["model"]
    return [
        one["title"], len(one["seeds"]), one["folds"], " ".join(map(str, one["chosen"])), one["idle"],
        model["rank_loss"], f"{training['rate']:g}", f"{training['backbone_rate']:g}", model["max_length"],
        model.get("chunks", 1),
    ]  # fmt: skip
