"""Tables of how models agree with a cross-encoder: `whyrank semantic-bm`'s numbers as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from whyrank.evaluation.estimate import row_text
from whyrank.pages.page import Cell, Report

#: Models by name, as they are shown.
NAMES = {
    "semantic_bm": "SemanticBM",
    "no_interaction": "U0 and matching, no interaction",
    "matching_only": "matching only",
    "u0_only": "U0 only",
    "bm25": "BM25",
    "tf_idf": "TF-IDF",
    "query_likelihood": "query likelihood",
    "random_features": "random features",
}


def with_interval(told: dict[str, Any] | None, value: str = "mean") -> str:
    """`0.816 [0.790, 0.840]`, or a dash for what is not defined."""
    return "–" if told is None else row_text(told, value)


def models_table(report: Report, protocol: dict[str, Any], caption: str) -> None:
    """Every model of a protocol: how it was made, and how well it agrees."""
    columns = ["model", "columns (rank)", "Pearson", "less than SemanticBM by", "Spearman by query", "nDCG@10",
               "of the cross-encoder's", "chosen"]  # fmt: skip
    rows: list[list[Cell]] = []
    for model in protocol["models"]:
        less, share = model["pearson"]["less"], model["ndcg_share"]
        rows.append(
            [
                NAMES[model["name"]], _sizes(model), with_interval(model["pearson"], "r"),
                with_interval(less, "by") if less else "–", with_interval(model["spearman"]),
                with_interval(model["ndcg"]), "–" if share is None else f"{share:.1%}", _chosen(model["chosen"]),
            ]
        )  # fmt: skip
    drawn = protocol["random_heads"]
    if drawn:
        cells = [spread(drawn[name]) for name in ("pearson", "spearman", "ndcg")]
        rows.append([f"random heads, {len(drawn['draws'])} draws", "", cells[0], "–", *cells[1:], "–", ""])
    rows.append(["cross-encoder", "", "–", "–", "–", with_interval(protocol["cross_encoder"]["ndcg"]), "–", ""])
    told = (
        f"{caption}. Intervals redraw queries; random heads: mean (least to most). Settings are chosen on the "
        "training part. A rival of one column goes through the same regression, which changes no Pearson. "
        "Documents with equal predictions are ranked by docno; Spearman leaves out queries where all are equal."
    )
    report.table(columns, rows, told)


def _sizes(model: dict[str, Any]) -> str:
    sizes = sorted({f"{count} ({rank})" for count, rank in zip(model["columns"], model["rank"], strict=True)})
    return sizes[0] if len(sizes) == 1 else f"{min(model['columns'])}–{max(model['columns'])}"


def _chosen(chosen: Sequence[dict[str, float]]) -> str:
    told = sorted({", ".join(f"{name} {value:g}" for name, value in one.items()) for one in chosen})
    return told[0] if len(told) == 1 else f"{len(told)} settings"


def spread(told: dict[str, Any] | None) -> str:
    """`0.651 (0.590 to 0.702)`: the mean of several draws, the least and the most."""
    return f"{told['mean']:.3f} ({told['least']:.3f} to {told['most']:.3f})" if told else "–"
