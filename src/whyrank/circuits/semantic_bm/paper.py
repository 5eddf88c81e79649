"""What the paper reports of SemanticBM, and ours beside it."""

from __future__ import annotations

from typing import Any

from whyrank.circuits.semantic_bm.tables import NAMES, models_table, with_interval
from whyrank.pages.page import Cell, Report

#: What the paper reports (cross-encoder/ms-marco-MiniLM-L-12-v2) on its own pairs: Pearson.
PAPER_PAIRS = {"semantic_bm": 0.8157, "bm25": 0.4200}
#: And over 12 BEIR collections: by our name of the measure the median, the mean and the deviation of each model.
PAPER_BEIR: dict[str, dict[str, tuple[float, float, float | None]]] = {
    "by_group": {
        "semantic_bm": (0.8401, 0.8301, 0.0314), "random_features": (0.0005, 0.0003, 0.0147),
        "bm25": (0.4570, 0.4609, 0.0366),
    },
    "spearman": {
        "semantic_bm": (0.7619, 0.6629, 0.3137), "random_features": (0.0, 0.0011, 0.3844),
        "bm25": (0.4643, 0.3912, 0.3992),
    },
    "ndcg": {
        "cross_encoder": (0.5000, 0.5097, None), "semantic_bm": (0.4307, 0.4511, None),
        "bm25": (0.5000, 0.5269, None), "random_features": (0.3562, 0.3498, None),
    },
}  # fmt: skip
MEASURES = {
    "by_group": "Pearson over query lengths",
    "spearman": "Spearman over queries",
    "ndcg": "nDCG@10 over queries",
}
Protocol = dict[str, Any]


def paper_section(report: Report, default: Protocol, paper: Protocol) -> None:
    """The results under the paper's protocol, and the paper's own beside them."""
    report.paragraph(
        "One regression for each number of query tokens, a coefficient for each position, split by pair "
        "(documents of a query stand on both sides), attention to the final [SEP] counted; query lengths with "
        f"more than {paper['least']} samples."
    )
    if paper["models"]:
        _by_length(report, paper)
        told = (
            "All query lengths together. Measures by query are over the query's test pairs, about a fifth of its "
        )
        told += "documents, so nDCG@10, which counts all that were judged, is low for every model"
        models_table(report, paper, told)
    else:
        report.paragraph("No query length has so many here: there is nothing to fit.")
    _pairs_beside(report, default, paper)
    _beir_beside(report, paper)


def _by_length(report: Report, paper: Protocol) -> None:
    names, sizes = ("semantic_bm", "bm25", "random_features"), ("query_tokens", "train", "test", "test_queries")
    values = [model["by_group"]["values"] for name in names for model in paper["models"] if model["name"] == name]
    rows: list[list[Cell]] = [
        [*(group[name] for name in sizes), *(_number(column[i]) for column in values)]
        for i, group in enumerate(paper["groups"])
    ]
    columns = ["query tokens", "train", "test", "queries in test", *(NAMES[name] for name in names)]
    report.table(columns, rows, f"Pearson by query length; {paper['left_out']} pairs are in no such group.")


def _pairs_beside(report: Report, default: Protocol, paper: Protocol) -> None:
    rows: list[list[Cell]] = []
    for name, value in PAPER_PAIRS.items():
        ours = [with_interval(_told(protocol, name, "pearson"), "r") for protocol in (paper, default)]
        rows.append([NAMES[name], f"{value:.4f}", *ours])
    report.table(
        ["Pearson", "paper, its pairs", "ours, paper's protocol", "ours, split by query"],
        rows,
        "Pooled over pairs. The paper's BM25 has k1 = 0.5, b = 0.9; ours is tuned.",
    )


def _beir_beside(report: Report, paper: Protocol) -> None:
    rows: list[list[Cell]] = []
    for measure, models in PAPER_BEIR.items():
        for name, (median, mean, deviation) in models.items():
            own = _told(paper, name, measure) or {"median": None, "mean": None, "sd": None}
            shown = f"{MEASURES[measure]}: {NAMES.get(name, 'cross-encoder')}"
            ours = [_number(own["median"]), _mean(own["mean"], own["sd"])]
            rows.append([shown, f"{median:.4f}", _mean(mean, deviation), *ours])
    report.table(
        ["", "paper: median", "paper: mean ± SD", "ours: median", "ours: mean ± SD"],
        rows,
        "Generalisation: the paper has 12 BEIR collections, BM25's top 10, 19 query lengths and 278,194 samples.",
    )


def _told(protocol: Protocol, name: str, measure: str) -> dict[str, Any] | None:
    """A measure of a model, if the protocol had anything to fit."""
    if name == "cross_encoder":
        return (protocol["cross_encoder"] or {}).get(measure)
    return next((model[measure] for model in protocol["models"] if model["name"] == name), None)


def _mean(mean: float | None, deviation: float | None) -> str | None:
    if mean is None:
        return None
    return f"{mean:.4f}" + ("" if deviation is None else f" ± {deviation:.4f}")


def _number(value: float | None) -> str | None:
    return None if value is None else f"{value:.4f}"
