"""What the leading heads look at: between categories of tokens, on one pair, and over k."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from whyrank.evaluation.estimate import row_text
from whyrank.pages.page import Cell, Figure, Figures, Report
from whyrank.plots.heat_map import heat_maps
from whyrank.plots.lines import Point, line_plots
from whyrank.text.categories import CATEGORIES

#: What is drawn over k: does a head leave the injected term for other query words?
OVER_K = ("inj -> inj", "inj -> qterm-", "inj -> qterm+", "cls -> inj", "cls -> qterm-")
#: Attention that goes to the injected term and to other query words, from the same tokens.
RIVALS = (("inj -> inj", "inj -> qterm-"), ("cls -> inj", "cls -> qterm-"))


def attention_figures(told: dict[str, Any]) -> Figures:
    """Patterns between categories, and one pair's."""
    figures: Figures = {}
    if told["patterns"]:
        figures["attention-patterns"] = _patterns(told["patterns"])
    if told["example"]:
        figures["attention-example"] = _example(told["example"])
    return figures


def attention_over_k(told: dict[str, Any]) -> Figures:
    """A panel a head: its attention to the injected tokens beside that to other query words."""
    every = [row for row in told["attention_over_k"] if row["k"] is not None]
    looks = [row for row in every if row["quantity"] in OVER_K]
    if not looks:
        return {}
    panels: dict[str, dict[str, list[Point]]] = {}
    for row in looks:
        curves = panels.setdefault(f"head {row['head']}", {})
        point = Point(row["k"], row["mean"], row["low"], row["high"])
        curves.setdefault(row["quantity"], []).append(point)
    panels = {head: {q: sorted(curves[q]) for q in OVER_K if q in curves} for head, curves in panels.items()}
    columns = ["head", "quantity", "k", "mean", "low", "high", "n"]
    data: list[list[Cell]] = [[row[name] for name in columns] for row in every]
    caption = (
        "Attention that a token of the first kind gives to all of the second, over k; bands: 95% intervals; "
        f"{_n(looks)}. {_leaving(looks)}"
    )
    return {"over-k-attention": (line_plots(panels, "k, occurrences", "attention"), caption, (columns, data))}


def _leaving(rows: Sequence[dict[str, Any]]) -> str:
    """From the first k to the last: how attention to the injected term and to other query words goes."""
    said = []
    for head in dict.fromkeys(row["head"] for row in rows):
        for names in RIVALS:
            both = [_change(rows, head, name) for name in names]
            if all(both):
                said.append(f"{head}: {', '.join(filter(None, both))}")
    return "; ".join(said) + ("." if said else "")


def _change(rows: Sequence[dict[str, Any]], head: str, quantity: str) -> str | None:
    mine = sorted((r["k"], r["mean"]) for r in rows if (r["head"], r["quantity"]) == (head, quantity))
    return f"{quantity} {mine[0][1]:.2f} to {mine[-1][1]:.2f}" if len(mine) > 1 else None


def _patterns(rows: Sequence[dict[str, Any]]) -> Figure:
    names = [one for one in CATEGORIES if any(one in (row["from"], row["to"]) for row in rows)]
    panels: dict[str, dict[tuple[int, int], float]] = {}
    for row in rows:
        if row["mean"] is not None:
            place = names.index(row["from"]), names.index(row["to"])
            panels.setdefault(f"head {row['head']}", {})[place] = row["mean"]
    svg = heat_maps(
        panels, names, names, row_title="from", column_title="to", value_title="attention", one_way=True
    )
    columns = ["head", "from", "to", "mean", "low", "high", "n"]
    data: list[list[Cell]] = [[row[name] for name in columns] for row in rows]
    caption = (
        "Attention that a token of one category gives to all tokens of another, perturbed run, mean over pairs "
        f"({_n(rows)}); grey: no pair has both. {_strongest(rows)}"
    )
    return svg, caption, (columns, data)


def _strongest(rows: Sequence[dict[str, Any]]) -> str:
    """What the injected term reads most, head by head."""
    said = []
    for head in dict.fromkeys(row["head"] for row in rows):
        mine = [r for r in rows if r["head"] == head and r["from"] == "inj" and r["mean"] is not None]
        if mine:
            top = max(mine, key=lambda row: row["mean"])
            said.append(f"in {head} {top['to']} ({row_text(top, 'mean', '.2f')})")
    return f"The injected term reads most: {', '.join(said)}." if said else ""


def _example(example: dict[str, Any]) -> Figure:
    tokens = example["tokens"]
    labels = [f"{one['text']} · {one['category']}" for one in tokens]
    weights = example["weights"]
    cells = {(i, j): weight for i, row in enumerate(weights) for j, weight in enumerate(row)}
    svg = heat_maps(
        {"": cells}, labels, labels, row_title="from", column_title="to", value_title="attention", one_way=True,
        cell=0.22,
    )  # fmt: skip
    columns = ["from", "category", *(f"{i} {one['text']}" for i, one in enumerate(tokens))]
    data: list[list[Cell]] = [[t["text"], t["category"], *row] for t, row in zip(tokens, weights, strict=True)]
    (i, j), top = max(cells.items(), key=lambda cell: cell[1])
    caption = (
        f"Head {example['head']} on one pair (n = 1): {len(tokens)} tokens of document {example['docid']} around "
        f"'{example['term']}', query '{example['query']}'. Strongest: {tokens[i]['text']} to "
        f"{tokens[j]['text']}, {top:.2f}."
    )
    return svg, caption, (columns, data)


def attention_table(report: Report, told: dict[str, Any]) -> None:
    rows: list[list[Cell]] = [[r["head"], r["quantity"], row_text(r, "mean"), r["n"]] for r in told["attention"]]
    if rows:
        columns = ["head", "attention", "mean", "pairs"]
        caption = "Perturbed run; a pair that lacks a category is out."
        report.table(columns, rows, caption, folded="Attention between categories, head by head")


def _n(rows: Sequence[dict[str, Any]]) -> str:
    least, most = min(row["n"] for row in rows), max(row["n"] for row in rows)
    return f"{most} pairs" if least == most else f"{least} to {most} pairs"
