"""What `whyrank circuit` writes: circuit.json, figures and the report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from whyrank.circuits.figures import circuit_figures
from whyrank.core.atomic import write_json, write_text
from whyrank.encoders.site import short_name
from whyrank.evaluation.estimate import row_text
from whyrank.interventions.pair_texts import add_texts
from whyrank.pages.page import Cell, Figures, Report

#: What the paper found in ms-marco-MiniLM-L-12-v2 ('Pathway to Relevance').
PAPER = {
    "scoring": "10.1 10.4 10.7 10.10; mean r of CLS attention with IDF .67, the sign differs by head",
    "contextualization": "8.10 (r .781) and 9.11 (r .829)",
    "matching": "0.8 1.7 2.1 3.1 4.9 5.7 5.9 6.3 6.5 7.9 8.0 8.1 8.8; mean r with cosine .500, other heads .132",
    "between_sets": "TFC1 against STMC1: to the logits r=.99, to the scoring heads r=.83",
    "u0": "U0 against matching score r=.143",
    "queries": "matching heads to the scoring heads' queries: about 0",
    "ablation": "the 13 matching heads zeroed: TFC1 logit 5.146 to -4.394, STMC1 -1.998 to -4.611",
}


#: What is left in an ablation: its name in the result, that of its random rivals, and in words.
WAYS = (
    ("only circuit", "only", "only the circuit"),
    ("without circuit", "without", "all but the circuit"),
    ("without matching", "without matching's", "all but the matching heads"),
)


def write_circuit(
    found: dict[str, Any], out: Path, manifest: dict[str, Any], sentences: list[str] | None = None
) -> list[Path]:
    """circuit.json, a figure a file, report.html; `sentences` say what was done to the pairs' texts."""
    data = out / "circuit.json"
    write_json(data, found)
    figures = circuit_figures(found)
    report = Report(
        f"The circuit of {found['ranker']}",
        f"{len(found['heads'])} heads; share of the gap by exact path patching, threshold {found['threshold']} "
        f"(decided by {found['decide']}); IDF from {found['idf']['source']}.",
    )
    add_circuit(report, found, figures)
    add_texts(report, manifest.get("texts", {}), sentences or [])
    paths = [data]
    for name, (svg, _, _) in figures.items():
        path = out / f"{name}.svg"
        write_text(path, svg)
        paths.append(path)
    return [*paths, report.write(out / "report.html", manifest)]


def add_circuit(report: Report, found: dict[str, Any], figures: Figures) -> None:
    """The sections about a circuit, in this or a longer report."""
    report.heading("The circuit")
    report.paragraph(f"The search ended: {found['ended']}.")
    _figures(report, figures, "graph")
    _roles(report, found)
    report.heading("Who sends to whom")
    _steps(report, found)
    _figures(report, figures, "to-logits", "step-")
    report.heading("What each head looks at")
    _tests(report, found)
    _figures(report, figures, "tests", "scoring-idf", "example-")
    if "saturation" in found or "length" in found:
        report.heading("Do matching heads count?")
        _figures(report, figures, "saturation", "count", "length")
    if "senders" in found:
        report.heading("What feeds the matching heads")
        _figures(report, figures, "senders")
    report.heading("Is it enough, is it needed?")
    _faithfulness(report, found)
    report.heading("Are IDF and matching separate?")
    _independence(report, found)


def _figures(report: Report, figures: Figures, *prefixes: str) -> None:
    for name, figure in figures.items():
        if name.startswith(prefixes):
            report.figure(*figure)


def _roles(report: Report, found: dict[str, Any]) -> None:
    rows: list[list[Cell]] = []
    for role, heads in found["roles"].items():
        told = found["tests"]["roles"].get(role)
        mine = told["role"] if told else None
        rows.append([
            role, " ".join(map(short_name, heads)) or None, with_interval(mine),
            with_interval(told["others"]) if told else None, PAPER.get(role),
        ])  # fmt: skip
    report.table(
        ["role", "heads", "mean r", "all other heads", "the paper"],
        rows,
        "r: attention of CLS to query tokens against IDF (scoring), of query tokens to each other against IDF "
        "(contextualization), of query to document tokens against the cosine of their embeddings (matching); "
        "pooled over texts, intervals over queries.",
    )


def _steps(report: Report, found: dict[str, Any]) -> None:
    rows: list[list[Cell]] = []
    for step in found["steps"]:
        mine = [
            edge for edge in found["edges"]
            if edge["step"] == step["number"] and edge["part"] == step["part"]
        ]  # fmt: skip
        kept = [f"{short_name(e['sender'])} {with_interval(e, 'share')}" for e in mine if e["status"] == "kept"]
        borderline = [short_name(e["sender"]) for e in mine if e["status"] == "borderline"]
        between = step["between_sets"]
        rows.append([
            step["number"], _receivers(step), sum(step["pairs"].values()), step["queries"], _followed(step),
            f"{step['cutoff']:.4f}", "; ".join(kept[:12]) + (" ..." if len(kept) > 12 else "") or None,
            " ".join(borderline[:12]) or None, _between(between),
        ])  # fmt: skip
    report.table(
        [
            "step",
            "receivers",
            "pairs",
            "queries",
            "senders",
            "cut-off",
            "kept (share of the gap)",
            "borderline",
            "r of sets",
        ],
        rows,
        "Shares are ratios of sums over all pairs. Senders: all heads below, or the strongest of them on the "
        "first pairs, which alone were patched on the rest. r of sets: Pearson over heads between the maps of the "
        f"first two sets of pairs, on the pairs that all heads have. The paper, {PAPER['between_sets']}.",
    )


def _tests(report: Report, found: dict[str, Any]) -> None:
    members = [row for row in found["tests"]["heads"] if row["role"]]
    rows: list[list[Cell]] = [
        [
            short_name(row["head"]), row["role"], f"{row['query_mass']:.3f}",
            *(with_interval(row["pooled"][name]) for name in ("scoring", "contextualization", "matching")),
            *(_r(row["within"][name]["r"]) for name in ("scoring", "contextualization", "matching")),
        ]
        for row in members
    ]  # fmt: skip
    report.table(
        ["head", "role", "CLS to query", "r scoring", "r contextualization", "r matching", "within: scoring",
         "within: contextualization", "within: matching"],
        rows,
        "All three tests for every head of the circuit (all other heads in circuit.json). CLS to query: the part "
        "of CLS's attention that goes to query tokens. Within: both sides less their mean in each text.",
    )  # fmt: skip


def _faithfulness(report: Report, found: dict[str, Any]) -> None:
    rows: list[list[Cell]] = []
    for name, one in found["faithfulness"].items():
        for kind, told in one["kinds"].items():
            for key, way, label in WAYS:
                if key in told:
                    mine = told[key]
                    rows.append([
                        name, kind, label, with_interval(mine, "kept"), mine["n"], _spread(told["random"][way]),
                        _scores(told["intact"]), _scores(mine),
                    ])  # fmt: skip
    report.table(
        ["pairs", "ablation", "what is left", "part of the gap kept", "n", "random circuits", "scores intact",
         "scores ablated"],
        rows,
        f"Scores: mean of baseline / perturbed. Random circuits: as many heads, mean (least to most). The paper: "
        f"{PAPER['ablation']}.",
    )  # fmt: skip


def _independence(report: Report, found: dict[str, Any]) -> None:
    u0, paths = found.get("u0_against_matching"), found.get("matching_to_scoring")
    if u0:
        report.paragraph(
            f"U0 against the matching score of a query token: r = {with_interval(u0)}, n = {u0['n']} tokens of "
            f"{u0['queries']} queries. The paper: {PAPER['u0']}."
        )
    for part, word in (("v", "values"), ("q", "queries"), ("k", "keys")):
        if paths and part in paths:
            told = paths[part]
            report.paragraph(
                f"All matching heads below, together, to the scoring heads' {word}: "
                f"{with_interval({'r': told['share'], **told['share_interval']})} of the gap, n = {told['n']}."
            )
    if paths:
        report.paragraph(f"The paper: {PAPER['queries']}.")


def with_interval(told: dict[str, Any] | None, key: str = "r") -> str | None:
    """`.512 [.480, .540]`."""
    if told is None or told.get(key) is None:
        return None
    return row_text(told, key, ends="interval" if told.get("interval") else None)


def _r(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _followed(step: dict[str, Any]) -> str:
    if step["followed"] == len(step["shares"]):
        return f"{step['followed']}"
    return f"{step['followed']} of {len(step['shares'])} after {step['chosen_on']} pairs"


def _receivers(step: dict[str, Any]) -> str:
    if step["part"] is None:
        return "logits"
    names: Sequence[str] = step["receivers"]
    shown = " ".join(map(short_name, names[:8])) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
    return f"{step['part']} of {shown}"


def _between(told: dict[str, Any] | None) -> str | None:
    return None if told is None else f"{with_interval(told, 'pearson')} ({told['pairs']} pairs)"


def _spread(random: dict[str, Any]) -> str | None:
    if not random["circuits"]:
        return None
    return f"{random['mean']:.3f} ({random['least']:.3f} to {random['most']:.3f})"


def _scores(told: dict[str, Any]) -> str:
    return f"{told['base']:.2f} / {told['perturbed']:.2f}"
