"""The report of `whyrank semantic-bm`, from its summary: all models, the paper's numbers, the coefficients."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from whyrank.circuits.semantic_bm.figures import coefficient_bars, model_bars, predicted
from whyrank.circuits.semantic_bm.paper import paper_section
from whyrank.circuits.semantic_bm.tables import NAMES, models_table, with_interval
from whyrank.core.atomic import write_json, write_text
from whyrank.pages.page import Cell, Report

Points = Sequence[tuple[str, str, float, float]]


def write_semantic_bm(
    summary: dict[str, Any], points: Points, folder: Path, manifest: dict[str, Any]
) -> list[Path]:
    """semantic_bm.json, figures and report.html; a point is qid, docno, score and prediction of a test pair."""
    default = summary["protocols"][0]
    figures = {
        "predicted": predicted(points, summary["ranker"]["name"]),
        "models": model_bars(default, NAMES),
        "coefficients": coefficient_bars(summary["model"]["coefficients"]),
    }
    paths = [folder / "semantic_bm.json", *(folder / f"{name}.svg" for name in figures)]
    for path, svg in zip(paths[1:], figures.values(), strict=True):
        write_text(path, svg)
    report = _report(summary, points, figures)
    write_json(paths[0], summary)
    return [*paths, report.write(folder / "report.html", manifest)]


def _report(summary: dict[str, Any], points: Points, figures: dict[str, str]) -> Report:
    ranker = summary["ranker"]["name"]
    report = Report(
        f"SemanticBM: {ranker} as {len(summary['heads'])} matching heads and an IDF dimension",
        f"{summary['samples']} pairs of {summary['queries']} queries of {summary['collection']} "
        f"({summary['first_stage']}); the target is the cross-encoder's own score.",
    )
    default, paper = summary["protocols"]
    report.heading("How much of the score is it?")
    _in_short(report, summary, default)
    data = (["qid", "docno", "cross-encoder", "SemanticBM"], points)
    told = f"SemanticBM against {ranker}, the {len(points)} pairs of the test part; dotted: equal."
    report.figure(figures["predicted"], told, data)
    rows: list[list[Cell]] = [
        [NAMES[model["name"]], *(model["pearson"][key] for key in ("r", "low", "high", "n"))]
        for model in default["models"]
    ]
    report.figure(
        figures["models"], "Pearson with the cross-encoder's score on the test part, with 95% intervals.",
        (["model", "r", "low", "high", "pairs"], rows),
    )  # fmt: skip
    models_table(report, default, "Coefficients shared over positions, split by query")
    report.heading("The paper's protocol")
    paper_section(report, default, paper)
    _choices(report, summary)
    report.heading("Coefficients")
    _coefficients(report, summary, figures["coefficients"])
    report.heading("One score, term by term")
    _example(report, summary["example"], ranker)
    return report


def _in_short(report: Report, summary: dict[str, Any], default: dict[str, Any]) -> None:
    (group,) = default["groups"]
    own = default["models"][0]
    sep = "counts" if default["sep"] else "does not count"
    report.paragraph(
        f"Fitted on {group['train']} pairs of {group['train_queries']} queries, tested on {group['test']} pairs "
        f"of {group['test_queries']} others: Pearson {with_interval(own['pearson'], 'r')}, mean Spearman within a "
        f"query {with_interval(own['spearman'])}. Attention to the final [SEP] {sep} as matching."
    )
    drawn = default["random_heads"]
    if drawn and drawn["pearson"]:
        spread = drawn["pearson"]
        report.paragraph(
            f"The same model with other heads, {len(drawn['draws'])} random draws of "
            f"{len(drawn['draws'][0]['heads'])} outside the circuit: Pearson {spread['mean']:.3f} on average "
            f"({spread['least']:.3f} to {spread['most']:.3f}); {drawn['as_good']} of them do at least as well as "
            "SemanticBM."
        )
    u0 = summary["u0"]
    report.paragraph(
        f"U0 against IDF (of {u0['idf']}), {u0['words']} whole words: r = {with_interval(u0, 'r')}. Its sign is "
        "chosen by that and changes how coefficients read, not what is predicted."
    )
    if summary["cut"]:
        report.paragraph(f"{summary['cut']} pairs are longer than the model reads and were cut.")


def _choices(report: Report, summary: dict[str, Any]) -> None:
    rows: list[list[Cell]] = [
        [
            "each" if one["by_position"] else "shared", one["split"], "counted" if one["sep"] else "left out",
            with_interval(one["pearson"], "r"), one["pearson"]["n"] if one["pearson"] else None,
        ]
        for one in summary["choices"]
    ]  # fmt: skip
    told = "What each choice of the protocols does to SemanticBM's Pearson on its test part."
    report.table(["positions", "split by", "final [SEP]", "Pearson", "test pairs"], rows, told)


def _coefficients(report: Report, summary: dict[str, Any], svg: str) -> None:
    model, columns = summary["model"], ["feature", "standardised", "low", "high", "slope", "mean", "deviation"]
    rows: list[list[Cell]] = [[one[name] for name in columns] for one in model["coefficients"]]
    told = (
        "Standardised coefficients (points of the score for one deviation of the column), with 95% intervals from "
        "redrawing the training queries. Heads that look alike share what they explain, so one coefficient alone "
        "says little."
    )
    report.figure(svg, told, (columns, rows))
    report.table(
        columns, rows, f"Intercept {model['intercept']:.4g}; rank {model['rank']} of {len(rows)} columns."
    )


def _example(report: Report, example: dict[str, Any], ranker: str) -> None:
    report.paragraph(
        f"Query “{example['query']}” ({example['qid']}), document {example['docno']}: SemanticBM "
        f"{example['score']:+.3f}, {ranker} {example['cross_encoder']:+.3f}. The intercept "
        f"{example['intercept']:+.3f} and the column 'adds' sum to the first."
    )
    rows: list[list[Cell]] = [
        [f"“{term['token']}”", *(f"{value:+.3f}" for value in (term["total"], term["idf"], *term["by_head"]))]
        for term in example["terms"]
    ]
    report.table(["token", "adds", "by its IDF", *example["heads"]], rows)
