"""What the opened models of a study of DGRe say: axioms, heads, attention."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from whyrank.evaluation.estimate import SIGNIFICANT, is_significant, p_text, row_text, yes_or_no
from whyrank.pages.page import Cell, Report
from whyrank.papers.disentangled.opened_figures import GROUPS

Told = Mapping[str, Any]
#: How differences over queries are tested here.
RANDOMISED = "randomisation tests over queries' means, none on fewer than 6 queries"


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
            row_text(row, "difference", "+.3f"), p_text(row["p"], row["queries"]),
            p_text(row["p_holm"], row["queries"]), row["n"], row["queries"],
        ]
        for row in told["axioms"]
    ]  # fmt: skip
    columns = ["axiom", "BERT holds", "DGRe holds", "DGRe - BERT", "p", "p (Holm)", "pairs", "queries"]
    report.table(columns, rows, f"Shares of pairs with 95% intervals over queries; {RANDOMISED}.")


def audit_verdict(axioms: Sequence[Told]) -> list[str]:
    """Which axioms differ significantly, each with its number of queries; which are tested on too few."""
    tested = [row for row in axioms if row["p"] is not None]
    better = [_on_queries(row) for row in tested if is_significant(row["p_holm"]) and row["difference"] > 0]
    worse = [_on_queries(row) for row in tested if is_significant(row["p_holm"]) and row["difference"] < 0]
    level = f"at {SIGNIFICANT} (Holm over {len(tested)} axioms)"
    open_ones = [row["queries"] for row in tested if not is_significant(row["p_holm"])]
    sizes = f" ({min(open_ones)} to {max(open_ones)} queries each)" if open_ones else ""
    found = (
        []
        if not tested
        else [
            f"DGRe obeys more often than BERT, significantly {level}: {', '.join(better) or 'no axiom'}; less "
            f"often: {', '.join(worse) or 'no axiom'}; no significant difference in the other "
            f"{len(open_ones)}{sizes}."
        ]
    )
    few = [_on_queries(row) for row in axioms if row["p"] is None]
    if few:
        found.append(f"Not tested, on fewer than 6 queries: {', '.join(few)}.")
    return found


def _on_queries(row: Told) -> str:
    return f"{row['axiom']} ({row['queries']} queries)"


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
        model.replace(name, _group(name)): gap
        for name, one in told["maps"].items()
        for model, gap in zip(one["models"], one["gaps"], strict=True)
    }
    shown = "; ".join(f"{name} {_value(gap, '+.3f')}" for name, gap in gaps.items())
    report.paragraph(f"The gap between perturbed and baseline that shares are of: {shown}.")
    doubtful = [name for name, gap in gaps.items() if not gap["sure"]]
    if doubtful:
        report.paragraph(
            f"The gap of {', '.join(doubtful)} may be 0 or less: shares of it mean little, and are left out of "
            "the means over seeds. Correlations of maps are of effects, not of shares, and have them."
        )
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
    report.paragraph(
        "Vanilla BERT reads the [CLS] of the last layer only: what words attend to there changes no score of it, "
        "and is not learned. Layers below the top are compared; the top layer is shown, not tested."
    )
    top = told["top"]
    rows: list[list[Cell]] = [
        [_group(name), _value(one, ".4f"), _value(top[name], ".4f") if name in top else "–"]
        for name, one in told["means"].items()
    ]
    sizes = f"{told['readings']} readings of {told['queries']} queries"
    caption = f"Share of the mass that is on spurious relations; {sizes}."
    report.table(["attention", "layers below the top", "top layer"], rows, caption)
    _differences(report, told["differences"], f"Layers below the top; Holm over the three tests; {RANDOMISED}.")
    _graphs(report, told["graphs"])


def _graphs(report: Report, told: Told) -> None:
    """DGRe's own word graph under its masks, all words, relevant candidates, content words; and what crosses."""
    parts = {
        **{f"on spurious relations, {view}": one for view, one in told["views"].items()},
        "from the other side": told["crossing"],
    }
    known = {name: one for name, one in parts.items() if one["means"]}
    if not known:
        return
    report.paragraph(
        "DGRe's own word graph, all refined layers, of the same models under each mask. On spurious relations: of "
        "what a word hears from the other side, the mean over words (rows of the graph). From the other side: the "
        "part of all that words hear that comes from the other side's words; a mask moves mass there. No mask and "
        "the heuristic one have the same share on spurious relations by construction: within the other side's "
        "words both are a softmax of the same relations."
    )
    masks = list(next(iter(known.values()))["means"])
    rows: list[list[Cell]] = [
        [name, *(_value(one["means"][mask], ".4f") for mask in masks), one["readings"]]
        for name, one in known.items()
    ]
    report.table(["share", *(f"masking: {mask}" for mask in masks), "readings"], rows, "Means with 95% intervals.")
    tests = sum(len(one["differences"]) for one in known.values())
    for name, one in known.items():
        caption = f"Share {name}, under a mask against none; Holm over the {tests} tests of graphs; {RANDOMISED}."
        _differences(report, one["differences"], caption)


def lacking(report: Report, told: Told) -> bool:
    """Says why a part could not be done; whether it was so."""
    if "lacking" in told:
        report.paragraph(f"This could not be done: {told['lacking']}")
    return "lacking" in told


def _differences(report: Report, differences: Sequence[Told], caption: str) -> None:
    rows: list[list[Cell]] = [
        [
            f"{_group(row['of'])} - {_group(row['against'])}",
            row_text(row, "difference", "+.4f"), p_text(row["p_holm"], row["queries"]),
            yes_or_no(row["p_holm"]), row["queries"],
        ]
        for row in differences
    ]  # fmt: skip
    report.table(["", "difference", "p (Holm)", "significant", "queries"], rows, caption)


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
    return row_text(one, "value", form)


def _ends(one: Told) -> str:
    return row_text(one, "pearson", ends="interval")


def _three(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
