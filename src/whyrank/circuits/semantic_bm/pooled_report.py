"""Several collections in the report: each by itself, and the paper's Appendix G beside ours."""

from __future__ import annotations

from whyrank.circuits.semantic_bm.paper import beir_table
from whyrank.circuits.semantic_bm.results import SEMANTIC_BM, CollectionAgreement, OfCollection, SemanticBM
from whyrank.circuits.semantic_bm.tables import text_of
from whyrank.evaluation.estimate import percent
from whyrank.pages.numbers import counted
from whyrank.pages.page import Cell, Report

#: What is shown of each collection.
SHOWN = (SEMANTIC_BM, "bm25", "random_features")


def pooled_section(page: Report, result: SemanticBM) -> None:
    """Nothing of one collection."""
    if not result.by_collection:
        return
    page.heading("Collection by collection")
    for protocol, said in (
        ("default", "One regression for all collections, coefficients shared over positions, split by query"),
        ("by_length", "One regression per query length for all collections, split by query"),
    ):
        rows = [row for one in result.by_collection for row in _rows(one, protocol)]
        if rows:
            page.table(
                ["collection", "test queries", "Pearson: SemanticBM; BM25; random features", "within queries",
                 "Spearman by query", "nDCG@10: cross-encoder; SemanticBM; BM25"],
                rows, f"{said}; measured on each collection's test queries.",
            )  # fmt: skip
    if result.by_length is None:
        return
    if not result.by_length.models:
        page.paragraph(f"No query length has more than {result.by_length.least} samples: no Appendix G.")
        return
    lengths = [group.query_tokens for group in result.by_length.groups if group.query_tokens is not None]
    page.paragraph(
        f"Appendix G: one regression per query length, {counted(len(lengths), 'length')} from {min(lengths)} to "
        f"{max(lengths)} tokens with more than {result.by_length.least} samples each, "
        f"{counted(result.by_length.samples, 'sample')} in all; here split by query, so that measures by query "
        "see all documents of a test query."
    )
    beir_table(page, result.by_length)


def _rows(one: OfCollection, protocol: str) -> list[list[Cell]]:
    found = next((some for some in one.protocols if some.protocol == protocol), None)
    if found is None or not found.models:
        return []
    own = found.model(SEMANTIC_BM)
    assert own is not None
    return [
        [
            one.name, own.spearman.mean.queries or own.pearson.queries,
            "; ".join(text_of(model.pearson) for name in SHOWN if (model := found.model(name))),
            text_of(own.within), text_of(own.spearman), _ndcg(found),
        ]
    ]  # fmt: skip


def _ndcg(found: CollectionAgreement) -> str:
    own, words = found.model(SEMANTIC_BM), found.model("bm25")
    parts = [found.cross_encoder_ndcg, own.ndcg if own else None, words.ndcg if words else None]
    share = "" if own is None or own.ndcg_share is None else f" ({percent(own.ndcg_share, 1)} of the first)"
    return "; ".join(text_of(one) for one in parts[:2]) + share + f"; {text_of(parts[2])}"
