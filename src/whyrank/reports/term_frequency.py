"""What `whyrank study term-frequency` writes: a page a ranker, and the atlas that compares them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from html import escape
from pathlib import Path
from typing import Any

from whyrank.reports.beside import beside_table
from whyrank.reports.circuit import with_interval
from whyrank.reports.html import Cell, Report
from whyrank.reports.lines import Point, line_plots
from whyrank.reports.numbers import with_ends
from whyrank.reports.term_frequency_figures import term_frequency_figures
from whyrank.reports.term_frequency_paper import NOTE, findings
from whyrank.store.atomic import write_text

RESULT = "term_frequency.json"
#: What is told of a feature of violating and adhering pairs.
WHY = {
    "feature": "feature", "violating": "median of violating", "adhering": "median of adhering",
    "cliffs_delta": "Cliff's delta",
}  # fmt: skip
#: Heads listed in a table.
LISTED = 12


def write_ranker(told: dict[str, Any], out: Path, manifest: dict[str, Any], *, hide: bool = False) -> list[Path]:
    """term_frequency.json, a figure a file, report.html."""
    rows = findings(told)
    told = {**told, "findings": [asdict(row) for row in rows]}
    write_text(out / RESULT, json.dumps(told, indent=2, allow_nan=False) + "\n")
    figures = term_frequency_figures(told, hide=hide)
    paths = [out / RESULT]
    for name, (svg, _, _) in figures.items():
        write_text(out / f"{name}.svg", svg)
        paths.append(out / f"{name}.svg")
    report = Report(
        f"Term frequency in {told['ranker']}",
        f"{told['kind']}, {told['layers']} layers x {told['heads_a_layer']} heads; its own top 100 of "
        f"{told['documents']} for {told['queries']} queries; the term: {told['term']}.",
    )
    report.heading("The paper and what was measured here")
    beside_table(report, rows, "Agrees: the paper's number lies in our 95% interval, or its statement holds here.")
    report.paragraph(NOTE)
    _sets(report, told)
    for title, prefixes in SECTIONS:
        some = [figure for name, figure in figures.items() if name.startswith(prefixes)]
        if some or title in TABLES:
            report.heading(title)
            for figure in some:
                report.figure(*figure)
            if title in TABLES:
                TABLES[title](report, told)
    return [*paths, report.write(out / "report.html", manifest)]


def _sets(report: Report, told: dict[str, Any]) -> None:
    rows: list[list[Cell]] = [
        [
            name, one["pairs"], one["queries"], f"{one['gap']['mean']:+.4f}", f"{one['gap']['median']:+.4f}",
            f"{one['keep']['adherent'] / one['keep']['pairs']:.0%}", one["keep"]["correlation_with_all"],
        ]
        for name, one in told["sets"].items()
    ]  # fmt: skip
    report.table(
        ["set", "pairs", "queries", "mean gap", "median gap", "adherent", "r of adherent with all"],
        rows,
        "Null: a word of another query in the term's place. Minimal context: all but five words on either side "
        "of the change are fillers. Adherent: the perturbed side scores higher; r: their map against that of all.",
    )


def _one_by_one(report: Report, told: dict[str, Any]) -> None:
    (joint,) = told["together"]["sites"]
    share = with_interval({"share": joint["share"], **joint["share_interval"]}, "share")
    report.paragraph(
        f"{' '.join(told['leading'])} patched together at the injected term recover {share} of the gap (n = "
        f"{joint['n']})."
    )
    rows: list[list[Cell]] = [
        [r["site"].replace("L", "").replace("H", "").replace(".z", ""), r["category"],
         with_interval(r, "difference"), r["n"], r["queries"], r["p_holm"]]
        for r in sorted(told["append_less_prepend"], key=lambda r: -abs(r["difference"]))[:LISTED]
    ]  # fmt: skip
    report.table(
        ["head", "tokens", "append less prepend", "n", "queries", "p (Holm)"],
        rows,
        "Effect on the score, the same query and document with the term at the end and at the start.",
    )
    rows = [[r["head"], r["quantity"], with_interval(r, "mean"), r["n"]] for r in told["attention"]]
    report.table(
        ["head", "attention", "mean", "n"], rows, "On the perturbed run; a pair that lacks a category is out."
    )


def _estimators(report: Report, told: dict[str, Any]) -> None:
    names = ("ratio_of_sums", "thresholded_mean", "mean_of_ratios")
    order = sorted(told["estimators"], key=lambda row: -abs(row["ratio_of_sums"]["value"] or 0.0))
    rows: list[list[Cell]] = [
        [row["site"], *(with_interval(row[name], "value") for name in names),
         " ".join("yes" if row[name]["survives"] else "no" for name in names)]
        for row in order[:LISTED]
    ]  # fmt: skip
    counts = {name: sum(row[name]["survives"] for row in told["estimators"]) for name in names}
    report.paragraph(
        "Heads whose interval leaves out 0: "
        + ", ".join(f"{counts[name]} by {name.replace('_', ' ')}" for name in names)
        + f", of {len(told['estimators'])}."
    )
    report.table(
        ["head", "ratio of sums", "thresholded mean of ratios", "mean of ratios (papers)", "survives"],
        rows,
        f"The {len(rows)} largest. Threshold: |gap| of at least {told['estimators'][0]['threshold']:.4g}.",
    )


def _questions(report: Report, told: dict[str, Any]) -> None:
    asked = told["questions"]
    rows: list[list[Cell]] = []
    for name, one in (
        ("each document's own term", asked["document_terms"]), ("sentences restored", asked["restored"]),
        *((f"{filler} fillers", one) for filler, one in asked["fillers"].items()),
    ):  # fmt: skip
        if one:
            shown = with_interval(one["map"], "pearson")
            rows.append([name, one["pairs"], f"{one['gap']['mean']:+.4f}", shown, " ".join(one["leading"])])
    report.table(
        ["pairs", "n", "mean gap", "r of the map with append's", "heads that stand out"],
        rows,
        "The same heads by another choice of term, text or filler?",
    )
    audits: list[list[Cell]] = []
    for name, one in asked["audit"].items():
        for summary in one["axioms"]:
            shares = (_outcome(summary, outcome) for outcome in ("holds", "neutral", "violates"))
            audits.append([name, summary["n"], summary["queries"], *shares, summary["mean"]])
    told_of = "Repetition beside sentences added, natural differences, and subjects restored; difference: mean."
    report.table(["variation", "pairs", "queries", "holds", "neutral", "violates", "difference"], audits, told_of)
    _why(report, asked["audit"])
    apart = sorted(asked["violating_against_adhering"], key=lambda r: -abs(r["difference"]["value"] or 0.0))
    rows = [
        [r["site"], with_interval(r["violating"], "value"), r["n_violating"],
         with_interval(r["adhering"], "value"), r["n_adhering"], with_interval(r["difference"], "value")]
        for r in apart[:LISTED]
    ]  # fmt: skip
    report.table(
        ["head", "violating", "n", "adhering", "n", "difference"],
        rows,
        "Mean effect of heads in pairs that violate TFC1 and in those that adhere; largest differences.",
    )


def _outcome(summary: dict[str, Any], outcome: str) -> str:
    low, high = (summary["intervals"][outcome][end] for end in ("low", "high"))
    return with_ends(summary["shares"][outcome], low, high, ".0%")


def _why(report: Report, audits: dict[str, Any]) -> None:
    """What tells violating pairs from adhering ones."""
    rows: list[list[Cell]] = [
        [name, *(contrast[key] for key in WHY)]
        for name, one in audits.items()
        for summary in one["axioms"]
        for contrast in summary["why"]
    ]
    if rows:
        report.table(["variation", *WHY.values()], rows, "What tells pairs that violate from pairs that hold.")


SECTIONS = (
    ("Heads", ("heads-",)),
    ("Blocks", ("blocks",)),
    ("Heads that stand out", ("leading",)),
    ("Counting: TFC2", ("tfc2", "violations", "attention-over-k")),
    ("Information flow", ("flow",)),
    ("Estimators side by side", ("estimators",)),
    ("Open questions", ("questions",)),
)
TABLES = {
    "Heads that stand out": _one_by_one, "Estimators side by side": _estimators, "Open questions": _questions,
}  # fmt: skip


def write_atlas(
    found: dict[str, Any], pages: Mapping[str, Path], out: Path, manifest: dict[str, Any]
) -> list[Path]:
    """atlas.json and report.html, with a link to each ranker's page."""
    write_text(out / "atlas.json", json.dumps(found, indent=2, allow_nan=False) + "\n")
    report = Report(
        "Who carries term frequency, and where?", f"{len(found['rankers'])} rankers, the same questions."
    )
    report.heading("Rankers")
    items = "".join(f'<li><a href="{escape(str(path))}">{escape(name)}</a></li>' for name, path in pages.items())
    report.html(f"<ul>{items}</ul>")
    rows: list[list[Cell]] = [
        [page["ranker"], page["layers"], f"{page['mean_depth']:.2f}",
         "; ".join(f"{h['head']} {with_interval(h, 'share')}" for h in page["carrying"])]
        for page in found["rankers"]
    ]  # fmt: skip
    report.table(
        ["ranker", "layers", "mean depth", "heads that carry most (share of the gap)"],
        rows,
        "Depth: 0 is the first layer, 1 the last; the mean is weighted by |share|.",
    )
    report.heading("Over depth")
    report.figure(*_profiles(found["rankers"]))
    if found["alike"]:
        report.heading("How alike")
        alike: list[list[Cell]] = [[one["of"], one["with"], one["profile"], one["map"]] for one in found["alike"]]
        report.table(["ranker", "and", "r of profiles over depth", "r of maps"], alike,
                     "Maps are compared only where layers and heads are the same in number; heads of two models "
                     "have no reason to bear the same numbers.")  # fmt: skip
    return [out / "atlas.json", report.write(out / "report.html", manifest)]


def _profiles(rankers: Sequence[dict[str, Any]]) -> Any:
    steps = len(rankers[0]["profile"])
    curves = {
        page["ranker"]: [Point((i + 0.5) / steps, value) for i, value in enumerate(page["profile"])]
        for page in rankers
    }
    svg = line_plots({"": curves}, "relative depth", "part of all |shares|")
    data = [[page["ranker"], *page["profile"]] for page in rankers]
    return svg, "Where along the depth heads carry an appended term.", (["ranker", *map(str, range(steps))], data)
