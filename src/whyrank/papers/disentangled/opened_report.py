"""What the report says of the opened models: axioms, heads, attention; and of the one query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from whyrank.evaluation.estimate import NOTHING, SIGNIFICANT, p_text, percent, yes_or_no
from whyrank.learning.tables import Difference
from whyrank.pages.numbers import counted, span
from whyrank.pages.page import Cell, Report
from whyrank.papers.disentangled.kept_models import GROUPS
from whyrank.papers.disentangled.results import (
    AttentionCompared,
    AuditsCompared,
    AxiomCompared,
    GraphsCompared,
    HeadMaps,
    MapsAlike,
    OneQuery,
)

#: How differences over queries are tested here.
RANDOMISED = "randomisation tests over queries' means, none on fewer than 6 queries"


def t_sne_table(report: Report, shown: OneQuery) -> None:
    """How near the centroids are."""
    if not shown.word_graphs:
        report.paragraph("The pair of Figure 6 has no word on one side: there is no graph to show.")
    if shown.part != "test":
        learned = {"train": "learned from", "validation": "chosen by"}.get(shown.part, "not used in")
        report.paragraph(f"Query {shown.qid} was {learned} the fold whose models are shown here.")
    pairs = list(next(iter(shown.t_sne.values())).cosines)
    rows: list[list[Cell]] = [
        [title, *(_three(one.cosines[pair]) for pair in pairs), one.relevant, one.others]
        for title, one in shown.t_sne.items()
    ]
    caption = "Cosines of the centroids of the last layer's vectors, one query: no interval, an illustration."
    report.table(["loss", *pairs, "relevant", "others"], rows, caption)


def audits(report: Report, found: AuditsCompared) -> None:
    """Which axioms improve."""
    report.paragraph(
        f"Both were audited on the same {counted(found.pairs, 'pair')} made of test queries' candidates; a pair's "
        f"outcome is averaged over {_seeds(found.seeds)}. A pair holds if the side that the axiom prefers scores "
        "higher by more than 1% of the spread of the model's scores."
    )
    for sentence in audit_verdict(found.axioms):
        report.paragraph(sentence)
    rows: list[list[Cell]] = [
        [
            row.axiom, f"{row.holds['bert']:.2f}", f"{row.holds['dgre']:.2f}", f"{row.difference:+.3f}",
            p_text(row.comparison.p, row.queries), p_text(row.comparison.p_holm, row.queries),
            row.difference.pairs, row.queries,
        ]
        for row in found.axioms
    ]  # fmt: skip
    columns = ["axiom", "BERT holds", "DGRe holds", "DGRe - BERT", "p", "p (Holm)", "pairs", "queries"]
    report.table(columns, rows, f"Shares of pairs with 95% intervals over queries; {RANDOMISED}.")


def audit_verdict(axioms: Sequence[AxiomCompared]) -> list[str]:
    """Which axioms differ significantly, each with its number of queries; which are tested on too few."""
    tested = [row for row in axioms if row.comparison.p is not None]
    sure = [row for row in tested if row.comparison.is_significant]
    better = ", ".join(_on_queries(row) for row in sure if (row.difference.value or 0) > 0) or "no axiom"
    worse = ", ".join(_on_queries(row) for row in sure if (row.difference.value or 0) < 0) or "no axiom"
    others = [row.queries for row in tested if not row.comparison.is_significant]
    sizes = f" ({span(others)} queries each)" if others else ""
    found = []
    if tested:
        level = f"at {SIGNIFICANT} (Holm over {counted(len(tested), 'axiom')})"
        found.append(
            f"DGRe obeys more often than BERT, significantly {level}: {better}; less often: {worse}; no "
            f"significant difference in the other {len(others)}{sizes}."
        )
    few = [_on_queries(row) for row in axioms if row.comparison.p is None]
    if few:
        found.append(f"Not tested, on fewer than 6 queries: {', '.join(few)}.")
    return found


def _on_queries(row: AxiomCompared) -> str:
    return f"{row.axiom} ({counted(row.queries, 'query', 'queries')})"


def heads(report: Report, found: HeadMaps) -> None:
    """How alike the maps are."""
    if found.no_backbone:
        report.paragraph(f"The backbone by itself is not a ranker ({found.no_backbone}): no map before training.")
    elif found.backbone_kind == "bi-encoder":
        report.paragraph(
            "Before training is the backbone as the bi-encoder it was: its map is of the document read alone, "
            "that of the trained models of query and document read together."
        )
    _gaps(report, found)
    rows: list[list[Cell]] = [
        [
            _between(row), f"{row.mean:.3f}",
            f"{row.least:.3f} to {row.most:.3f}" if len(row.each) > 1 else NOTHING, row.each[0].text(),
            sum(one.value is not None for one in row.each),
        ]
        for row in found.alike
    ]  # fmt: skip
    caption = (
        "Pearson's r of two maps, head by head. Two seeds of one model are as alike as the chance in training "
        "leaves them: only less than that is evidence that the two models differ."
    )
    columns = ["maps", "r, mean over pairs of models", "lowest to highest", "first pair, 95% interval", "pairs"]
    report.table(columns, rows, caption)


def _gaps(report: Report, found: HeadMaps) -> None:
    """What the shares are of, by model, and where that is doubtful."""
    gaps = {
        model.replace(name, _group(name)): gap
        for name, one in found.maps.items()
        for model, gap in zip(one.models, one.gaps, strict=True)
    }
    listed = "; ".join(f"{name} {gap:+.3f}" for name, gap in gaps.items())
    report.paragraph(f"The gap between perturbed and baseline that shares are of: {listed}.")
    doubtful = [name for name, gap in gaps.items() if not gap.is_above_zero]
    if doubtful:
        report.paragraph(
            f"The gap of {', '.join(doubtful)} may be 0 or less: shares of it mean little, and are not in the "
            "means over seeds. Correlations of maps are of effects, not of shares, and include them."
        )


def attention(report: Report, found: AttentionCompared) -> None:
    """The share of attention on spurious relations, and of DGRe's own graph."""
    kinds = found.kinds
    report.paragraph(
        "A relation of a query word and a document word is spurious if it is neither the same word nor near. "
        "Near: the cosine of their input embeddings in the backbone, before training, is at least "
        f"{found.threshold:.3f}, which {percent(found.unrelated)} of the pairs of a query's words and another "
        f"query's document's words reach. {percent(kinds['same'], 1)} of the relations are the same word, "
        f"{percent(kinds['near'], 1)} near, {percent(kinds['spurious'], 1)} spurious. The share is of "
        "the attention from query words to document words and back, without special tokens and punctuation, "
        f"summed over heads; averaged over {_seeds(found.seeds)}."
    )
    report.paragraph(
        "Vanilla BERT reads the [CLS] of the last layer only: what words attend to there changes no score, and is "
        "not learned. Layers below the top are compared; the top layer is shown, not tested."
    )
    rows: list[list[Cell]] = [
        [_group(name), f"{one:.4f}", f"{found.top[name]:.4f}" if name in found.top else NOTHING]
        for name, one in found.means.items()
    ]
    sizes = f"{counted(found.readings, 'reading')} of {counted(found.queries, 'query', 'queries')}"
    caption = f"Share of the attention that is on spurious relations; {sizes}."
    report.table(["attention", "layers below the top", "top layer"], rows, caption)
    _differences(report, found.differences, f"Layers below the top; Holm over the three tests; {RANDOMISED}.")
    _graphs(report, found.graphs)


def _graphs(report: Report, found: GraphsCompared) -> None:
    """DGRe's own word graph under its masks, all words, relevant candidates, content words; and what crosses."""
    parts = {
        **{f"on spurious relations, {view}": one for view, one in found.views.items()},
        "from the other side": found.crossing,
    }
    known = {name: one for name, one in parts.items() if one.means}
    if not known:
        return
    report.paragraph(
        "DGRe's own word graph, all refined layers, of the same models under each mask. On spurious relations: of "
        "what a word receives from the other side, the mean over words (rows of the graph). From the other side: "
        "the part of all that words receive that comes from the other side's words; a mask moves mass there. No "
        "mask and the heuristic one have the same share on spurious relations by construction: within the other "
        "side's words both are a softmax of the same relations."
    )
    masks = list(next(iter(known.values())).means)
    rows: list[list[Cell]] = [
        [name, *(f"{one.means[mask]:.4f}" for mask in masks), one.readings] for name, one in known.items()
    ]
    report.table(["share", *(f"masking: {mask}" for mask in masks), "readings"], rows, "Means with 95% intervals.")
    tests = counted(sum(len(one.differences) for one in known.values()), "test")
    for name, one in known.items():
        caption = f"Share {name}, under a mask against none; Holm over the {tests} of graphs; {RANDOMISED}."
        _differences(report, one.differences, caption)


def _differences(report: Report, differences: Sequence[Difference], caption: str) -> None:
    rows: list[list[Cell]] = [
        [
            f"{_group(row.of)} - {_group(row.against)}", row.value, p_text(one.p_holm, one.difference.queries),
            yes_or_no(one.p_holm), one.difference.queries,
        ]
        for row in differences
        for one in [row.comparison]
    ]  # fmt: skip
    report.table(["", "difference", "p (Holm)", "significant", "queries"], rows, caption)


def _between(row: MapsAlike) -> str:
    one, other = _group(row.one), _group(row.other)
    return f"{one}, two seeds" if one == other else f"{one}, {other}"


def _group(name: str) -> str:
    return {"uniform": "uniform attention", "none": "no mask"}.get(name, GROUPS.get(name, name))


def _seeds(seeds: Mapping[str, int]) -> str:
    return ", ".join(
        f"{counted(count, 'seed')} of {GROUPS[name]}" for name, count in seeds.items() if name in GROUPS
    )


def _three(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.3f}"
