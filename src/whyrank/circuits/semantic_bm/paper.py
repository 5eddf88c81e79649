"""What the paper reports of SemanticBM, and what was measured here."""

from __future__ import annotations

from whyrank.circuits.semantic_bm.results import ByGroup, OverQueries, ProtocolResult
from whyrank.circuits.semantic_bm.tables import NAMES, models_table, text_of
from whyrank.evaluation.estimate import percent
from whyrank.pages.numbers import counted
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
#: The mean nDCG@10 of SemanticBM as a part of the cross-encoder's.
PAPER_ALIGNMENT = 0.884
MEASURES = {
    "by_group": "Pearson over query lengths",
    "spearman": "Spearman over queries",
    "ndcg": "nDCG@10 over queries",
}


def paper_section(page: Report, default: ProtocolResult, paper: ProtocolResult) -> None:
    """The results under the paper's protocol, and the paper's own."""
    page.paragraph(
        "One regression for each number of query tokens, a coefficient for each position, split by pair "
        "(documents of a query stand on both sides), attention to the final [SEP] counted; query lengths with "
        f"more than {counted(paper.least, 'sample')}."
    )
    if paper.models:
        _by_length(page, paper)
        models_table(
            page, paper,
            "All query lengths together. Measures by query are over the query's test pairs, about a fifth of its "
            "documents, so nDCG@10, which counts all that were judged, is low for every model",
        )  # fmt: skip
    else:
        page.paragraph("No query length has so many here: there is nothing to fit.")
    _pairs_compared(page, default, paper)
    beir_table(page, paper)


def _by_length(page: Report, paper: ProtocolResult) -> None:
    names = ("semantic_bm", "bm25", "random_features")
    values = [one.by_group.values for name in names if (one := paper.model(name))]
    rows: list[list[Cell]] = [
        [
            group.query_tokens,
            group.train,
            f"{group.test} ({group.test_queries})",
            *(_number(one[i]) for one in values),
        ]
        for i, group in enumerate(paper.groups)
    ]
    columns = ["query tokens", "train", "test (queries)", *(NAMES[name] for name in names)]
    page.table(columns, rows, f"Pearson by query length; {counted(paper.dropped, 'pair')} in no such group.")


def _pairs_compared(page: Report, default: ProtocolResult, paper: ProtocolResult) -> None:
    rows: list[list[Cell]] = []
    for name, value in PAPER_PAIRS.items():
        ours = [text_of(one.pearson if (one := protocol.model(name)) else None) for protocol in (paper, default)]
        rows.append([NAMES[name], f"{value:.4f}", *ours])
    page.table(
        ["Pearson", "paper, its pairs", "ours, paper's protocol", "ours, split by query"],
        rows,
        "Pooled over pairs. The paper's BM25 has k1 = 0.5, b = 0.9; ours is tuned.",
    )


def beir_table(page: Report, paper: ProtocolResult) -> None:
    """The table of Appendix G beside ours: Pearson over query lengths, Spearman and nDCG@10 over queries."""
    rows: list[list[Cell]] = []
    for measure, models in PAPER_BEIR.items():
        for name, (median, mean, deviation) in models.items():
            shown = f"{MEASURES[measure]}: {NAMES.get(name, 'cross-encoder')}"
            rows.append([shown, f"{median:.4f}", _mean(mean, deviation), *_ours(paper, name, measure)])
    own = paper.model("semantic_bm")
    rows.append(["nDCG@10: SemanticBM / cross-encoder", None, f"{PAPER_ALIGNMENT:.1%}", None,
                 percent(own.ndcg_share, 1) if own else None])  # fmt: skip
    page.table(
        ["", "paper: median", "paper: mean ± SD", "ours: median", "ours: mean ± SD"],
        rows,
        "Generalisation: the paper has 12 BEIR collections, BM25's top 10, 19 query lengths and 278,194 samples.",
    )


def _ours(paper: ProtocolResult, name: str, measure: str) -> tuple[str | None, str | None]:
    """The median and the mean of a model's measure, if the protocol had anything to fit."""
    model = paper.model(name)
    one: OverQueries | ByGroup | None = paper.cross_encoder_ndcg if name == "cross_encoder" else None
    if model:
        one = model.by_group if measure == "by_group" else model.spearman if measure == "spearman" else model.ndcg
    if one is None:
        return None, None
    return _number(one.median), _mean(one.mean.value if isinstance(one, OverQueries) else one.mean, one.sd)


def _mean(mean: float | None, deviation: float | None) -> str | None:
    if mean is None:
        return None
    return f"{mean:.4f}" + ("" if deviation is None else f" ± {deviation:.4f}")


def _number(value: float | None) -> str | None:
    return None if value is None else f"{value:.4f}"
