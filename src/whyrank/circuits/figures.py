"""The figures of a circuit, from circuit.json."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from whyrank.circuits.graph import circuit_graph
from whyrank.pages.page import Cell, Figures
from whyrank.plots.heat_map import heat_maps
from whyrank.plots.lines import Point, line_plots

TESTS = ("scoring", "contextualization", "matching")
#: Matching heads shown in the worked example.
SHOWN = 4


def circuit_figures(found: dict[str, Any]) -> Figures:
    """By name; what was not measured has no figure."""
    figures: Figures = {"graph": _graph(found), "tests": _tests(found)}
    if found["tests"]["by_idf"]:
        figures["scoring-idf"] = _by_idf(found)
    figures |= _steps(found)
    figures |= _example(found["example"])
    if "saturation" in found:
        figures["saturation"] = _saturation(found["saturation"])
    if "count_not_flag" in found:
        figures["count"] = _count(found["count_not_flag"])
    if "length" in found:
        figures["length"] = _length(found["length"])
    if "senders" in found:
        figures["senders"] = _senders(found["senders"])
    return figures


def _graph(found: dict[str, Any]) -> Any:
    kept = [edge for edge in found["edges"] if edge["status"] == "kept"]
    rows = [[e["sender"], " ".join(e["receivers"]), e["part"], e["share"], e["low"], e["high"]] for e in kept]
    told = (
        "The circuit: heads by layer and role. An edge's width is the share of the gap that its sender brings to "
        "all heads it points to together (they received together); red: as the gap goes, blue: against it."
    )
    return circuit_graph(found), told, (["sender", "receivers", "part", "share", "low", "high"], rows)


def _tests(found: dict[str, Any]) -> Any:
    rows = found["tests"]["heads"]
    panels = {name: {_place(row["head"]): row["pooled"][name]["r"] for row in rows
                     if row["pooled"][name]["r"] is not None} for name in TESTS}  # fmt: skip
    marked = {name: {_place(head) for head in found["roles"].get(name, [])} for name in TESTS}
    data = [[row["head"], row["role"], *(row["pooled"][name]["r"] for name in TESTS)] for row in rows]
    told = "The r of each test for every head; a dot marks the heads of that role."
    return _map(panels, "r", marked), told, (["head", "role", *TESTS], data)


def _by_idf(found: dict[str, Any]) -> Any:
    """Each scoring head with its own sign: which read rare terms, which common ones."""
    curves = {
        head: [Point(p["idf"], p["mean"], p["low"], p["high"]) for p in points]
        for head, points in found["tests"]["by_idf"].items()
    }
    data = [[head, p["idf"], p["mean"], p["low"], p["high"], p["n"]]
            for head, points in found["tests"]["by_idf"].items() for p in points]  # fmt: skip
    svg = line_plots({"scoring heads": curves}, "IDF of the query token", "attention of CLS")
    caption = "What CLS reads of query tokens in each scoring head, by the token's IDF."
    return svg, caption, (["head", "IDF", "attention", "low", "high", "n"], data)


def _steps(found: dict[str, Any]) -> Figures:
    """A map of all senders for each step."""
    figures: Figures = {}
    numbers = sorted({step["number"] for step in found["steps"]})
    for number in numbers:
        steps = [step for step in found["steps"] if step["number"] == number]
        panels = {
            step["part"] or "logits": {_place(n): v for n, v in step["shares"].items() if n.startswith("L")}
            for step in steps
        }
        if not any(panels.values()):
            continue
        kept = {
            step["part"] or "logits": {
                _place(e["sender"]) for e in found["edges"]
                if e["step"] == number and e["part"] == step["part"] and e["status"] == "kept"
                and e["sender"].startswith("L")
            }
            for step in steps
        }  # fmt: skip
        data = [[s["part"], name, value] for s in steps for name, value in s["shares"].items()]
        to = "the logits" if number == 0 else "values, queries and keys of " + " ".join(steps[0]["receivers"])
        told = f"Step {number}: every head below to {to}; a dot: kept."
        if any(step["followed"] < len(step["shares"]) for step in steps):
            told += f" Heads that were not followed are told by the first {steps[0]['chosen_on']} pairs."
        name = "to-logits" if number == 0 else f"step-{number}"
        figures[name] = (_map(panels, "share of the gap", kept), told, (["part", "sender", "share"], data))
    return figures


def _example(example: dict[str, Any]) -> Figures:
    figures: Figures = {}
    query, document = example["query_tokens"], example["document_tokens"]
    intro = f"Query '{example['query']}', term '{example['term']}'."
    if example["scoring"]:
        heads = list(example["scoring"])
        cells = {(i, j): v for i, head in enumerate(heads) for j, v in enumerate(example["scoring"][head])}
        svg = heat_maps(
            {"": cells}, heads, query, row_title="", column_title="query", value_title="attention of CLS"
        )
        data: list[list[Cell]] = [[head, *example["scoring"][head]] for head in heads]
        caption = f"What the scoring heads read of the query. {intro}"
        figures["example-scoring"] = (svg, caption, (["head", *example["query_tokens"]], data))
    if example["contextualization"]:
        panels = {head: _matrix(rows) for head, rows in list(example["contextualization"].items())[:3]}
        svg = heat_maps(panels, query, query, row_title="from", column_title="to", value_title="attention")
        tokens = example["query_tokens"]
        data = [[head, token, *row] for head, rows in example["contextualization"].items()
                for token, row in zip(tokens, rows, strict=True)]  # fmt: skip
        figures["example-contextualization"] = (
            svg, f"Query tokens read each other. {intro}", (["head", "from", *tokens], data),
        )  # fmt: skip
    for head, rows in list(example["matching"].items())[:SHOWN]:
        svg = heat_maps({head: _matrix(rows)}, query, document, row_title="query", column_title="document",
                        value_title="attention")  # fmt: skip
        told = (
            f"What query tokens read of the document's query words and last words in matching head {head}. {intro}"
        )
        data = [[token, *row] for token, row in zip(example["query_tokens"], rows, strict=True)]
        figures[f"example-matching-{head}"] = (svg, told, (["from", *example["document_tokens"]], data))
    return figures


def _saturation(told: dict[str, Any]) -> Any:
    panels = {
        "matching heads": {
            "injected occurrences": _points(told["injected"]["matching heads"]),
            "other document tokens": _points(told["other tokens"]["matching heads"]),
        },
        "all other heads": {
            "injected occurrences": _points(told["injected"]["other heads"]),
            "other document tokens": _points(told["other tokens"]["other heads"]),
        },
    }
    best = _best(told["injected"]["matching heads"])
    caption = f"What the term in the query reads, by the number k of its occurrences (TFC2). Injected: {best}."
    data = [[name, group, *_row(p)] for name, groups in told.items() for group in groups
            for p in groups[group]["points"]]  # fmt: skip
    return line_plots(panels, "k, occurrences", "attention, summed"), caption, (
        ["tokens", "heads", "k", "mean", "low", "high", "n"], data,
    )  # fmt: skip


def _count(told: dict[str, Any]) -> Any:
    curves = {name: _points(one) for name, one in told.items()}
    best = _best(told["matching heads"])
    caption = (
        "Only the matching heads take the perturbed run's values: the score grows with the count, if that is "
        f"the signal; beside it the whole gap. Matching heads: {best}."
    )
    data = [[name, *_row(p)] for name, one in told.items() for p in one["points"]]
    svg = line_plots({"effect on the score": curves}, "k, occurrences", "score")
    return svg, caption, (["what", "k", "mean", "low", "high", "n"], data)


def _length(told: dict[str, Any]) -> Any:
    panels = {
        name: {group: _points(groups[group]) for group in ("matching heads", "other heads")}
        for name, groups in told.items()
    }
    data = [[name, group, *_row(p)] for name, groups in told.items() for group, one in groups.items()
            for p in one["points"]]  # fmt: skip
    caption = (
        "What query tokens read of the document when k foreign sentences are added (LNC1), less what they read of "
        "it before: in all, and a token."
    )
    return line_plots(panels, "k, sentences added", "change of attention"), caption, (
        ["what", "heads", "k", "mean", "low", "high", "n"], data,
    )  # fmt: skip


def _senders(told: dict[str, Any]) -> Any:
    parts = ("resid", "attn", "mlp")
    layers = 1 + max(site["layer"] for sites in told.values() for site in sites)
    panels = {
        head: {(site["layer"], parts.index(site["site"].split(".")[1])): site["share"] for site in sites
               if site["share"] is not None}
        for head, sites in told.items()
    }  # fmt: skip
    data = [[head, s["site"], s["share"], s["share_interval"]["low"], s["share_interval"]["high"], s["n"]]
            for head, sites in told.items() for s in sites]  # fmt: skip
    svg = heat_maps(
        panels, [str(i) for i in range(layers)], parts, row_title="layer", column_title="",
        value_title="share of the gap",
    )  # fmt: skip
    caption = (
        "Residual stream, attention and MLP output of each layer as senders into each matching head (q, k, v)."
    )
    return svg, caption, (["head", "sender", "share", "low", "high", "n"], data)


def _map(panels: dict[str, dict[tuple[int, int], float]], title: str, marked: Any) -> str:
    every = [place for cells in panels.values() for place in cells]
    layers, heads = 1 + max(layer for layer, _ in every), 1 + max(head for _, head in every)
    return heat_maps(
        panels, [str(i) for i in range(layers)], [str(i) for i in range(heads)], row_title="layer",
        column_title="head", value_title=title, marked=marked,
    )  # fmt: skip


def _place(head: str) -> tuple[int, int]:
    layer, number = head[1:].split(".H")
    return int(layer), int(number)


def _matrix(rows: Sequence[Sequence[float]]) -> dict[tuple[int, int], float]:
    return {(i, j): value for i, row in enumerate(rows) for j, value in enumerate(row)}


def _points(curve: dict[str, Any]) -> list[Point]:
    return [Point(p["k"], p["mean"], p["low"], p["high"]) for p in curve["points"]]


def _row(point: dict[str, Any]) -> list[Cell]:
    return [point["k"], point["mean"], point["low"], point["high"], point["n"]]


def _best(curve: dict[str, Any]) -> str:
    if not curve.get("fits"):
        return "too few k to fit a curve"
    best = curve["fits"][0]
    quality = "" if best["r2"] is None else f", R2 {best['r2']:.3f}"
    return f"best fit {best['curve']}{quality}"
