"""Tables of how models agree with a cross-encoder."""

from __future__ import annotations

from whyrank.circuits.semantic_bm.results import Agreement, OverQueries, ProtocolResult, Spread
from whyrank.evaluation.estimate import NOTHING, Estimate, percent
from whyrank.pages.page import Cell, Report

#: Models by name, as they are shown.
NAMES = {
    "semantic_bm": "SemanticBM",
    "shared_alpha": "Eq. 2, alphas shared",
    "no_interaction": "U0 and matching, no interaction",
    "matching_only": "matching only",
    "u0_only": "U0 only",
    "bm25": "BM25",
    "tf_idf": "TF-IDF",
    "query_likelihood": "query likelihood",
    "random_features": "random features",
}


def text_of(one: Estimate | OverQueries | None) -> str:
    """`0.816 [0.790, 0.840]`, or a dash for what is not defined."""
    estimate = one.mean if isinstance(one, OverQueries) else one
    return NOTHING if estimate is None else estimate.text()


def spread_text(one: Spread | None) -> str:
    """`0.651 (0.590 to 0.702)`: the mean of several draws, the least and the most."""
    return f"{one.mean:.3f} ({one.least:.3f} to {one.most:.3f})" if one else NOTHING


def models_table(page: Report, protocol: ProtocolResult, caption: str) -> None:
    """How well every model of a protocol agrees; how each was made is folded away."""
    columns = [
        "model", "Pearson, pooled", "less than SemanticBM by", "Pearson within queries", "Spearman by query",
        "nDCG@10", "share of nDCG",
    ]  # fmt: skip
    rows: list[list[Cell]] = [
        [
            NAMES[one.name], text_of(one.pearson), text_of(one.less), text_of(one.within), text_of(one.spearman),
            text_of(one.ndcg), percent(one.ndcg_share, 1),
        ]
        for one in protocol.models
    ]  # fmt: skip
    drawn = protocol.random_heads
    if drawn:
        spreads = [spread_text(one) for one in (drawn.pearson, drawn.spearman, drawn.ndcg)]
        rows.append(
            [f"random heads, {len(drawn.draws)} draws", spreads[0], NOTHING, NOTHING, *spreads[1:], NOTHING]
        )
    ceiling = text_of(protocol.cross_encoder_ndcg)
    rows.append(["cross-encoder", NOTHING, NOTHING, NOTHING, NOTHING, ceiling, NOTHING])
    page.table(
        columns,
        rows,
        f"{caption}. Within queries: the mean of each query's own r. Intervals redraw queries; random heads: mean "
        "(least to most). Share of nDCG: of the cross-encoder's. A rival of one column goes through the same "
        "regression, which changes no Pearson. Documents with equal predictions are ranked by docno; Spearman "
        "and r within queries drop queries where all are equal.",
    )
    made: list[list[Cell]] = [[NAMES[one.name], _sizes(one), _chosen(one)] for one in protocol.models]
    page.table(
        ["model", "columns (rank)", "chosen"], made, "Settings are chosen on the training part.",
        folded="how each model was made",
    )  # fmt: skip


def _sizes(model: Agreement) -> str:
    sizes = {f"{count} ({rank})" for count, rank in zip(model.columns, model.rank, strict=True)}
    return sizes.pop() if len(sizes) == 1 else f"{min(model.columns)}–{max(model.columns)}"


def _chosen(model: Agreement) -> str:
    found = {", ".join(f"{name} {value:g}" for name, value in one.items()) for one in model.chosen}
    return found.pop() if len(found) == 1 else f"{len(found)} settings"
