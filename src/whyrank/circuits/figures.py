"""The figures of a circuit, each with its caption and the data behind it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from whyrank.circuits.curves.figures import curve_figures
from whyrank.circuits.graph import circuit_graph
from whyrank.circuits.results import (
    EMBED,
    TESTS,
    Circuit,
    Curve,
    Example,
    Length,
    RowsOfQuery,
    Saturation,
    Step,
)
from whyrank.circuits.selected import Selection
from whyrank.circuits.token_figures import token_figures
from whyrank.evaluation.estimate import Estimate
from whyrank.interventions.statistics import SiteSummary
from whyrank.pages.page import Cell, Figure, Figures
from whyrank.plots.heat_map import heat_maps
from whyrank.plots.lines import Point, line_plots

#: Matching heads shown in the worked example.
SHOWN = 4
#: Contextualization heads shown in it.
SHOWN_CONTEXTS = 3
MATCHING_HEADS, OTHER_HEADS = "matching heads", "other heads"
BLOCKS = ("resid", "attn", "mlp")
ENDS = ("low", "high", "n")
Cells = dict[tuple[int, int], float]


def circuit_figures(circuit: Circuit) -> Figures:
    """By name; what was not measured has no figure."""
    figures: Figures = {"graph": _graph(circuit), "tests": _tests(circuit)}
    if circuit.selection:
        figures["selection"] = _selection(circuit.selection)
    if circuit.tests.by_idf:
        figures["scoring-idf"] = _by_idf(circuit)
    for number in sorted({step.number for step in circuit.steps}):
        steps = [step for step in circuit.steps if step.number == number]
        if any(_map_of(step) for step in steps):
            figures["to-logits" if number == 0 else f"step-{number}"] = _step(circuit, steps)
    figures |= _example(circuit.example)
    if circuit.saturation:
        figures["saturation"] = _saturation(circuit.saturation)
    if circuit.count_not_flag:
        figures["count"] = _count(circuit.count_not_flag)
    if circuit.length:
        figures["length"] = _length(circuit.length)
    if circuit.senders:
        figures["senders"] = _senders(circuit.senders)
    return figures | token_figures(circuit.senders_by_token) | curve_figures(circuit.curves)


def _graph(circuit: Circuit) -> Figure:
    rows = [[e.sender, " ".join(e.receivers), e.part, *_row(e.share)] for e in circuit.kept()]
    caption = (
        "The circuit: heads by layer and role. An edge's width is the share of the gap that its sender brings to "
        "all heads it points to together (they received together); red: as the gap goes, blue: against it."
    )
    return circuit_graph(circuit), caption, (["sender", "receivers", "part", "share", *ENDS], rows)


def _tests(circuit: Circuit) -> Figure:
    panels = {
        name: {_place(one.head): r for one in circuit.tests.heads if (r := one.pooled[name].value) is not None}
        for name in TESTS
    }
    marked = {name: {_place(one.head) for one in circuit.tests.heads if name in one.roles} for name in TESTS}
    rows = [
        [one.head, " ".join(one.roles), one.in_circuit, *(one.pooled[name].value for name in TESTS),
         *(one.p_holm.get(name) for name in TESTS)]
        for one in circuit.tests.heads
    ]  # fmt: skip
    caption = (
        "The r of each test for every head of the model; a dot marks those that pass it, in the circuit or not."
    )
    columns = ["head", "roles", "in the circuit", *TESTS, *(f"p {name}" for name in TESTS)]
    return _map(panels, "r", marked), caption, (columns, rows)


def _selection(selection: Selection) -> Figure:
    """Every head's total effect in each set, on the half where heads were chosen."""
    panels = {
        name: {_place(head): value for head, value in shares.items() if value is not None}
        for name, shares in selection.every.items()
    }
    kept = {_place(str(head)) for head in selection.members}
    rows: list[list[Cell]] = [
        [name, head, value] for name, shares in selection.every.items() for head, value in shares.items()
    ]
    caption = "The total effect of every head on the score, on the half of the queries that chooses; a dot: kept."
    svg = _map(panels, "share of the gap", dict.fromkeys(panels, kept))
    return svg, caption, (["pairs", "head", "share"], rows)


def _by_idf(circuit: Circuit) -> Figure:
    """Each scoring head with its own sign: which read rare terms, which common ones."""
    by_head = circuit.tests.by_idf
    curves = {head: [_point(one.idf, one.attention) for one in steps] for head, steps in by_head.items()}
    rows = [[head, one.idf, *_row(one.attention)] for head, steps in by_head.items() for one in steps]
    svg = line_plots({"scoring heads": curves}, "IDF of the query token", "attention of CLS")
    caption = "What CLS reads of query tokens in each scoring head, by the token's IDF."
    return svg, caption, (["head", "IDF", "attention", *ENDS], rows)


def _step(circuit: Circuit, steps: Sequence[Step]) -> Figure:
    """A map of all senders for each part of the receivers of a step."""
    panels = {step.part or "logits": _map_of(step) for step in steps}
    kept = {
        step.part or "logits": {_place(edge.sender) for edge in circuit.kept(step) if edge.sender != EMBED}
        for step in steps
    }
    rows: list[list[Cell]] = [[step.part, name, value] for step in steps for name, value in step.shares.items()]
    number, receivers = steps[0].number, " ".join(steps[0].receivers)
    to = "the logits" if number == 0 else f"values, queries and keys of {receivers}"
    caption = f"Step {number}: every head below to {to}, as shares of the whole gap; a dot: kept."
    if any(step.followed < len(step.shares) for step in steps):
        caption += f" Heads that were not followed are shown by the first {steps[0].chosen_on} pairs."
    return _map(panels, "share of the gap", kept), caption, (["part", "sender", "share"], rows)


def _map_of(step: Step) -> Cells:
    return {_place(name): value for name, value in step.shares.items() if name != EMBED and value is not None}


def _example(example: Example) -> Figures:
    figures: Figures = {}
    query, document = example.query_tokens, example.document_tokens
    pair = f"Query '{example.query}', term '{example.term}'."
    if example.scoring:
        heads = list(example.scoring)
        panels = {"": _matrix(list(example.scoring.values()))}
        svg = heat_maps(panels, heads, query, row_title="", column_title="query", value_title="attention of CLS")
        rows: list[list[Cell]] = [[head, *row] for head, row in example.scoring.items()]
        figures["example-scoring"] = (
            svg, f"What the scoring heads read of the query. {pair}", (["head", *query], rows)
        )  # fmt: skip
    if example.contextualization:
        panels = {head: _matrix(some) for head, some in list(example.contextualization.items())[:SHOWN_CONTEXTS]}
        svg = heat_maps(panels, query, query, row_title="from", column_title="to", value_title="attention")
        rows = [
            [head, token, *row] for head, some in example.contextualization.items()
            for token, row in zip(query, some, strict=True)
        ]  # fmt: skip
        figures["example-contextualization"] = (
            svg, f"Query tokens read each other. {pair}", (["head", "from", *query], rows),
        )  # fmt: skip
    for head, some in list(example.matching.items())[:SHOWN]:
        svg = heat_maps(
            {head: _matrix(some)}, query, document, row_title="query", column_title="document",
            value_title="attention",
        )  # fmt: skip
        caption = f"What query tokens read of the document's query words and last words in matching head {head}."
        rows = [[token, *row] for token, row in zip(query, some, strict=True)]
        figures[f"example-matching-{head}"] = (svg, f"{caption} {pair}", (["from", *document], rows))
    return figures


def _saturation(found: Saturation) -> Figure:
    own = RowsOfQuery(found.injected, found.other_tokens)
    read = {"selected term": own, "unselected terms": found.unselected, "all query tokens": found.every}
    panels = {
        f"{rows}: {title}": {
            "injected occurrences": _points(one.injected[group]),
            "tokens that are not in the query": _points(one.other_tokens[group]),
        }
        for title, group in ((MATCHING_HEADS, MATCHING_HEADS), ("all other heads", OTHER_HEADS))
        for rows, one in read.items()
        if one is not None
    }
    best = _best(found.injected[MATCHING_HEADS])
    caption = (
        "What the selected term of the query, its other terms and all its tokens read, by the number k of the "
        f"term's occurrences (TFC2). Selected term, injected: {best}."
    )
    rows: list[list[Cell]] = [
        [name, places, *row] for name, one in read.items() if one is not None
        for places, groups in (("injected", one.injected), ("not in the query", one.other_tokens))
        for row in _rows(groups)
    ]  # fmt: skip
    svg = line_plots(panels, "k, occurrences", "attention, summed")
    return svg, caption, (["rows", "tokens", "heads", "k", "mean", *ENDS], rows)


def _count(found: Mapping[str, Curve]) -> Figure:
    curves = {name: _points(one) for name, one in found.items()}
    caption = (
        "Only the matching heads take the perturbed run's values: the score grows with the count, if that is the "
        f"signal; the whole gap for comparison. Matching heads: {_best(found[MATCHING_HEADS])}."
    )
    svg = line_plots({"effect on the score": curves}, "k, occurrences", "score")
    return svg, caption, (["what", "k", "mean", *ENDS], list(_rows(found)))


def _length(found: Length) -> Figure:
    named = {"sum": found.sum, "mean over tokens": found.mean_over_tokens}
    panels = {
        name: {group: _points(groups[group]) for group in (MATCHING_HEADS, OTHER_HEADS)}
        for name, groups in named.items()
    }
    rows = [[name, *row] for name, groups in named.items() for row in _rows(groups)]
    caption = (
        "What query tokens read of the document when k foreign sentences are added (LNC1), less what they read of "
        "it before: in sum, and the mean per token."
    )
    svg = line_plots(panels, "k, sentences added", "change of attention")
    return svg, caption, (["what", "heads", "k", "mean", *ENDS], rows)


def _senders(found: Mapping[str, Sequence[SiteSummary]]) -> Figure:
    panels = {
        head: {_block(one.site): one.share.value for one in some if one.share.value is not None}
        for head, some in found.items()
    }
    layers = 1 + max(_block(one.site)[0] for some in found.values() for one in some)
    rows = [[head, one.site, *_row(one.share)] for head, some in found.items() for one in some]
    svg = heat_maps(
        panels, [str(i) for i in range(layers)], BLOCKS, row_title="layer", column_title="",
        value_title="share of the gap",
    )  # fmt: skip
    caption = (
        "Residual stream, attention and MLP output of each layer as senders into each matching head (q, k, v)."
    )
    return svg, caption, (["head", "sender", "share", *ENDS], rows)


def _map(panels: Mapping[str, Cells], title: str, marked: Mapping[str, set[tuple[int, int]]]) -> str:
    every = [place for cells in panels.values() for place in cells]
    layers, heads = 1 + max(layer for layer, _ in every), 1 + max(head for _, head in every)
    return heat_maps(
        panels, [str(i) for i in range(layers)], [str(i) for i in range(heads)], row_title="layer",
        column_title="head", value_title=title, marked=marked,
    )  # fmt: skip


def _place(head: str) -> tuple[int, int]:
    layer, number = head[1:].split(".H")
    return int(layer), int(number)


def _block(site: str) -> tuple[int, int]:
    layer, name = site[1:].split(".")
    return int(layer), BLOCKS.index(name)


def _matrix(rows: Sequence[Sequence[float]]) -> Cells:
    return {(i, j): value for i, row in enumerate(rows) for j, value in enumerate(row)}


def _points(curve: Curve) -> list[Point]:
    return [_point(point.k, point.mean) for point in curve.points]


def _point(x: float, estimate: Estimate) -> Point:
    return Point(x, float("nan") if estimate.value is None else estimate.value, estimate.low, estimate.high)


def _rows(curves: Mapping[str, Curve]) -> Iterator[list[Cell]]:
    for name, curve in curves.items():
        for point in curve.points:
            yield [name, point.k, *_row(point.mean)]


def _row(estimate: Estimate) -> list[Cell]:
    return [estimate.value, estimate.low, estimate.high, estimate.pairs]


def _best(curve: Curve) -> str:
    if not curve.fits:
        return "too few k to fit a curve"
    best = curve.fits[0]
    return f"best fit {best.curve}" + ("" if best.r2 is None else f", R2 {best.r2:.3f}")
