"""What the opened models of a study of DGRe say: axioms, heads, attention."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from whyrank.reports.disentangled_opened_figures import GROUPS
from whyrank.reports.disentangled_paper import SIGNIFICANT, is_significant
from whyrank.reports.disentangled_tables import number_text
from whyrank.reports.html import Cell, Report
from whyrank.reports.numbers import with_ends

Told = Mapping[str, Any]


def t_sne_table(report: Report, told: Told) -> None:
    """How near the centroids are."""
    shown = told["figures"]
    if not shown["word_graphs"]:
        report.paragraph("The pair of Figure 6 has no word on one side: there is no graph to show.")
    if shown["part"] != "test":
        learned = {"train": "learned from", "validation": "chosen by"}.get(shown["part"], "not used in")
        report.paragraph(f"Query {shown['qid']} was {learned} the fold whose models are shown here.")
    pairs = list(next(iter(shown["t_sne"].values()))["cosines"])
    rows: list[list[Cell]] = [
        [title, *(_three(one["cosines"][pair]) for pair in pairs), one["relevant"], one["others"]]
        for title, one in shown["t_sne"].items()
    ]
    caption = "Cosines of the centroids of the last layer's vectors, one query: no interval, an illustration."
    report.table(["loss", *pairs, "relevant", "others"], rows, caption)


def audits(report: Report, told: Told) -> None:
    """Which axioms improve."""
    report.paragraph(
        f"Both were audited on the same {told['pairs']} pairs made of test queries' candidates; a pair's outcome "
        f"is averaged over {_seeds(told['seeds'])}. A pair holds if the side that the axiom prefers scores "
        "higher by more than 1% of the spread of the model's scores."
    )
    for sentence in audit_verdict(told["axioms"]):
        report.paragraph(sentence)
    rows: list[list[Cell]] = [
        [
            row["axiom"], _value(row["holds"]["bert"], ".2f"), _value(row["holds"]["dgre"], ".2f"),
            with_ends(row["difference"], row["low"], row["high"], "+.3f"), number_text(row["p"]),
            number_text(row["p_holm"]), row["n"], row["queries"],
        ]
        for row in told["axioms"]
    ]  # fmt: skip
    columns = ["axiom", "BERT holds", "DGRe holds", "DGRe - BERT", "p", "p (Holm)", "pairs", "queries"]
    report.table(columns, rows, "Shares of pairs with 95% intervals over queries; t-tests over queries' means.")


def audit_verdict(axioms: Sequence[Told]) -> list[str]:
    better = [row["axiom"] for row in axioms if is_significant(row) and row["difference"] > 0]
    worse = [row["axiom"] for row in axioms if is_significant(row) and row["difference"] < 0]
    level = f"at {SIGNIFICANT} (Holm over {len(axioms)} axioms)"
    return [
        f"DGRe obeys more often than BERT, significantly {level}: {', '.join(better) or 'no axiom'}; less often: "
        f"{', '.join(worse) or 'no axiom'}; no significant difference in the other "
        f"{len(axioms) - len(better + worse)}."
    ]


def heads(report: Report, told: Told) -> None:
    """How alike the maps are."""
    kind = told["backbone_kind"]
    if told["backbone"]:
        report.paragraph(f"The backbone by itself is no ranker here ({told['backbone']}): no map before training.")
    elif kind == "bi-encoder":
        report.paragraph(
            "Before training is the backbone as the bi-encoder it was: its map is of the document read alone, "
            "that of the trained models of query and document read together."
        )
    gaps = {
        f"{_group(name)}{f' (seed {i + 1})' * (len(one['gaps']) > 1)}": gap
        for name, one in told["maps"].items()
        for i, gap in enumerate(one["gaps"])
    }
    shown = "; ".join(f"{name} {_value(gap, '+.3f')}" for name, gap in gaps.items())
    report.paragraph(f"The gap between perturbed and baseline that shares are of: {shown}.")
    doubtful = [name for name, gap in gaps.items() if not _surely_positive(gap)]
    if doubtful:
        report.paragraph(f"The gap of {', '.join(doubtful)} may be 0 or less: shares of it mean little.")
    rows: list[list[Cell]] = [
        [
            _between(row), f"{row['mean']:.3f}",
            f"{row['least']:.3f} to {row['most']:.3f}" if row["pairs_of_models"] > 1 else "–",
            _ends(row["each"][0]), row["pairs_of_models"],
        ]
        for row in told["alike"]
    ]  # fmt: skip
    caption = (
        "Pearson's r of two maps, head by head. Two seeds of one model are as alike as training's own chance "
        "leaves them: only less than that says that the two models differ."
    )
    columns = ["maps", "r, mean over pairs of models", "lowest to highest", "first pair, 95% interval", "pairs"]
    report.table(columns, rows, caption)


def attention(report: Report, told: Told) -> None:
    """The share of attention on spurious relations, and of DGRe's own graph."""
    kinds = told["kinds"]
    report.paragraph(
        "A relation of a query word and a document word is spurious if it is neither the same word nor near. "
        "Near: the cosine of their input embeddings in the backbone, before training, is at least "
        f"{told['threshold']:.3f}, which {told['unrelated']:.0%} of the pairs of a query's words and another "
        f"query's document's words reach. {kinds['same']:.1%} of the relations are the same word, "
        f"{kinds['near']:.1%} near, {kinds['spurious']:.1%} spurious. Mass is attention from query words to "
        "document words and back, without special tokens and punctuation, summed over heads; averaged over "
        f"{_seeds(told['seeds'])}."
    )
    rows: list[list[Cell]] = [[_group(name), _value(one, ".4f")] for name, one in told["means"].items()]
    sizes = f"{told['readings']} readings of {told['queries']} queries"
    caption = f"Share of the mass that is spurious, all layers; {sizes}."
    report.table(["attention", "share on spurious relations"], rows, caption)
    _differences(report, told["differences"], "Holm over the three tests; t-tests over queries' means.")
    graphs = told["graphs"]
    if graphs["means"]:
        masks: list[list[Cell]] = [[name, _value(one, ".4f")] for name, one in graphs["means"].items()]
        caption = f"DGRe's own word graph, all refined layers, under each mask; {graphs['readings']} readings."
        report.table(["masking", "share on spurious relations"], masks, caption)
        _differences(report, graphs["differences"], "The graph of the same models under a mask against none.")


def lacking(report: Report, told: Told) -> bool:
    """Says why a part could not be done; whether it was so."""
    if "lacking" in told:
        report.paragraph(f"This could not be done: {told['lacking']}")
    return "lacking" in told


def _differences(report: Report, differences: Sequence[Told], caption: str) -> None:
    rows: list[list[Cell]] = [
        [
            f"{_group(row['of'])} - {_group(row['against'])}",
            with_ends(row["difference"], row["low"], row["high"], "+.4f"), number_text(row["p_holm"]),
            "yes" if is_significant(row) else "no", row["queries"],
        ]
        for row in differences
    ]  # fmt: skip
    report.table(["", "difference", "p (Holm)", "significant", "queries"], rows, caption)


def _surely_positive(gap: Told) -> bool:
    return gap["low"] is not None and gap["low"] > 0


def _between(row: Told) -> str:
    one, other = _group(row["of"]), _group(row["with"])
    return f"{one}, two seeds" if one == other else f"{one}, {other}"


def _group(name: str) -> str:
    return {"uniform": "uniform attention", "none": "no mask"}.get(name, GROUPS.get(name, name))


def _seeds(seeds: Mapping[str, int]) -> str:
    return ", ".join(
        f"{count} seed{'s' * (count > 1)} of {GROUPS[name]}" for name, count in seeds.items() if name in GROUPS
    )


def _value(one: Told, form: str) -> str:
    return with_ends(one["value"], one["low"], one["high"], form)


def _ends(one: Told) -> str:
    return with_ends(one["pearson"], one["interval"]["low"], one["interval"]["high"])


def _three(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
