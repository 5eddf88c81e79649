"""What the leading heads attend to: between categories of tokens, on one pair, and over k."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from whyrank.pages.numbers import counted
from whyrank.pages.page import Cell, Figure, Figures, Report
from whyrank.papers.term_frequency.parts import Attention, AttentionExample
from whyrank.plots.heat_map import heat_maps
from whyrank.plots.lines import Point, line_plots
from whyrank.text.categories import CATEGORIES

if TYPE_CHECKING:
    from whyrank.papers.term_frequency.results import TermFrequencyStudy

#: What is drawn over k: does a head leave the injected term for other query words?
OVER_K = ("inj -> inj", "inj -> qterm-", "inj -> qterm+", "cls -> inj", "cls -> qterm-")
#: Attention that goes to the injected term and to other query words, from the same tokens.
RIVALS = (("inj -> inj", "inj -> qterm-"), ("cls -> inj", "cls -> qterm-"))


def attention_figures(study: TermFrequencyStudy) -> Figures:
    """Patterns between categories, and one pair's."""
    figures: Figures = {}
    if study.patterns:
        figures["attention-patterns"] = _patterns(study.patterns)
    if study.example:
        figures["attention-example"] = _example(study.example)
    return figures


def attention_over_k(study: TermFrequencyStudy) -> Figures:
    """A panel for each head: its attention to the injected tokens beside that to other query words."""
    every = [row for row in study.counting.attention if row.k is not None]
    shown = [row for row in every if row.quantity in OVER_K]
    if not shown:
        return {}
    panels: dict[str, dict[str, list[Point]]] = {}
    for row in shown:
        point = Point(row.k or 0, row.mean.value or 0.0, row.mean.low, row.mean.high)
        panels.setdefault(f"head {row.head}", {}).setdefault(row.quantity, []).append(point)
    panels = {head: {q: sorted(curves[q]) for q in OVER_K if q in curves} for head, curves in panels.items()}
    data: list[list[Cell]] = [
        [row.head, row.quantity, row.k, row.mean.value, row.mean.low, row.mean.high, row.mean.pairs]
        for row in every
    ]
    caption = (
        "Attention that a token of the first kind pays to all of the second, over k; bands: 95% intervals; "
        f"{_pairs(shown)}. {_leaving(shown)}"
    )
    columns = ("head", "quantity", "k", "mean", "low", "high", "n")
    return {"over-k-attention": (line_plots(panels, "k, occurrences", "attention"), caption, (columns, data))}


def _leaving(rows: Sequence[Attention]) -> str:
    """From the first k to the last: how attention to the injected term and to other query words goes."""
    said = []
    for head in dict.fromkeys(row.head for row in rows):
        for names in RIVALS:
            both = [_change(rows, head, name) for name in names]
            if all(both):
                said.append(f"{head}: {', '.join(filter(None, both))}")
    return "; ".join(said) + ("." if said else "")


def _change(rows: Sequence[Attention], head: str, quantity: str) -> str | None:
    mine = sorted((r.k or 0, r.mean.value or 0.0) for r in rows if (r.head, r.quantity) == (head, quantity))
    return f"{quantity} {mine[0][1]:.2f} to {mine[-1][1]:.2f}" if len(mine) > 1 else None


def _patterns(rows: Sequence[Attention]) -> Figure:
    names = [one for one in CATEGORIES if any(one in (row.source, row.target) for row in rows)]
    panels: dict[str, dict[tuple[int, int], float]] = {}
    for row in rows:
        if row.mean.value is not None:
            place = names.index(row.source), names.index(row.target)
            panels.setdefault(f"head {row.head}", {})[place] = row.mean.value
    svg = heat_maps(
        panels, names, names, row_title="from", column_title="to", value_title="attention", one_way=True
    )
    data: list[list[Cell]] = [
        [row.head, row.source, row.target, row.mean.value, row.mean.low, row.mean.high, row.mean.pairs]
        for row in rows
    ]
    caption = (
        "Attention that a token of one category pays to all tokens of another, perturbed run, mean over pairs "
        f"({_pairs(rows)}); grey: no pair has both. {_strongest(rows)}"
    )
    return svg, caption, (("head", "from", "to", "mean", "low", "high", "n"), data)


def _strongest(rows: Sequence[Attention]) -> str:
    """What the injected term reads most, head by head."""
    said = []
    for head in dict.fromkeys(row.head for row in rows):
        mine = [r for r in rows if r.head == head and r.source == "inj" and r.mean.value is not None]
        if mine:
            top = max(mine, key=lambda row: row.mean.value or 0.0)
            said.append(f"in {head} {top.target} ({top.mean:.2f})")
    return f"The injected term reads most: {', '.join(said)}." if said else ""


def _example(example: AttentionExample) -> Figure:
    tokens = example.tokens
    labels = [f"{one.text} · {one.category}" for one in tokens]
    cells = {(i, j): weight for i, row in enumerate(example.weights) for j, weight in enumerate(row)}
    svg = heat_maps(
        {"": cells}, labels, labels, row_title="from", column_title="to", value_title="attention", one_way=True,
        cell=0.22,
    )  # fmt: skip
    columns = ["from", "category", *(f"{i} {one.text}" for i, one in enumerate(tokens))]
    data: list[list[Cell]] = [
        [one.text, one.category, *row] for one, row in zip(tokens, example.weights, strict=True)
    ]
    (i, j), top = max(cells.items(), key=lambda cell: cell[1])
    caption = (
        f"Head {example.head} on one pair (n = 1): {counted(len(tokens), 'token')} of document {example.docid} "
        f"around '{example.term}', query '{example.query}'. Strongest: {tokens[i].text} to {tokens[j].text}, "
        f"{top:.2f}."
    )
    return svg, caption, (columns, data)


def attention_table(report: Report, study: TermFrequencyStudy) -> None:
    rows: list[list[Cell]] = [[r.head, r.quantity, r.mean.text(), r.mean.pairs] for r in study.attention]
    if rows:
        columns = ["head", "attention", "mean", "pairs"]
        caption = "Perturbed run; a pair that lacks a category does not count."
        report.table(columns, rows, caption, folded="Attention between categories, head by head")


def _pairs(rows: Sequence[Attention]) -> str:
    least, most = min(row.mean.pairs for row in rows), max(row.mean.pairs for row in rows)
    return counted(most, "pair") if least == most else f"{least} to {most} pairs"
