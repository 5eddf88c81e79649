"""The report of a patching run, from its summary."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from whyrank.axioms.same_score import no_gap
from whyrank.core.atomic import write_json, write_text
from whyrank.evaluation.estimate import p_text
from whyrank.interventions.figures import (
    about,
    interval_of,
    make_figures,
    measure_of,
    number_or_nan,
    r_text,
    with_interval,
)
from whyrank.interventions.pair_texts import add_texts
from whyrank.pages.page import Cell, Figures, Report

#: Sites in the table.
LISTED = 60


def write_patch(
    summary: dict[str, Any],
    folder: Path,
    manifest: dict[str, Any],
    *,
    hide: bool = False,
    sentences: list[str] | None = None,
) -> list[Path]:
    """summary.json, the figures and report.html; with `hide`, maps show only what is significant; `sentences` say
    what was done to the texts, which the manifest shows."""
    paths, figures = [folder / "summary.json"], make_figures(summary, hide=hide)
    write_json(paths[0], summary)
    for name, (svg, _, _) in figures.items():
        paths.append(folder / f"{name}.svg")
        write_text(paths[-1], svg)
    report = _report(summary, figures)
    add_texts(report, manifest.get("texts", {}), sentences or [])
    return [*paths, report.write(folder / "report.html", manifest)]


def _report(summary: dict[str, Any], figures: Figures) -> Report:
    report = Report(
        f"What causes the score? {about(summary)}",
        f"{summary['pairs']} minimal pairs of {summary['queries']} queries; intervals over queries.",
    )
    report.heading("Effects")
    _told(report, summary)
    for name in ("heads", "blocks", "categories", "leading"):
        if name in figures:
            report.figure(*figures[name])
    report.heading("Numbers")
    _table(report, summary)
    apart = [name for name in figures if name.startswith("heads-by-")]
    if apart or summary["splits"]:
        report.heading("Apart")
        for name in apart:
            report.figure(*figures[name])
        _splits(report, summary)
    if summary["between_axioms"] or summary.get("compared"):
        report.heading("Maps compared")
        for one in summary["between_axioms"]:
            report.paragraph(f"{one['of']} against {one['with']}, {one['sites']} sites: Pearson {r_text(one)}, "
                             f"Spearman {_short(one['spearman'])}.")  # fmt: skip
        if "compared" in figures:
            report.figure(*figures["compared"])
    if summary.get("agreement"):
        report.heading("How good is the approximation?")
        told = summary["agreement"]
        report.paragraph(
            f"Attribution was compared with exact patching on {told['pairs']} pairs ({told['rows']} rows): "
            f"Pearson over rows {_short(told['pearson_rows'])}, over the map {r_text(told['map'])}, Spearman "
            f"{_short(told['map']['spearman'])}; {told['leading']['shared']} of the {told['leading']['of']} "
            "leading sites are the same."
        )
        report.figure(*figures["agreement"])
    return report


def _told(report: Report, summary: dict[str, Any]) -> None:
    gap, keep = summary["gap"], summary["keep"]
    report.paragraph(
        f"Mean score of the baseline {gap['base']:.4g}, of the perturbed text {gap['perturbed']:.4g}: a gap of "
        f"{gap['mean']:+.4g} (median {gap['median']:+.4g})."
    )
    for sentence in no_gap(gap["same"], summary["pairs"]):
        report.paragraph(f"{sentence[0].upper()}{sentence[1:]}.")
    share = f"{keep['adherent']} of {keep['pairs']} pairs adhere (the perturbed text scores higher)"
    used = "only these are used" if keep["rule"] == "adherent" else "all are used"
    text = f"{share}; {used}."
    if keep["correlation_with_all"] is not None:
        text += (
            f" The map of all pairs and that of the adherent ones correlate at {keep['correlation_with_all']:.3f}"
        )
        change = keep["largest_change"]
        if change:
            text += f"; the largest change is at {change['site']}, {change['all']:.3f} with all and "
            text += f"{change['adherent']:.3f} with these"
        text += "."
    report.paragraph(text)
    if summary.get("screen"):
        screen = summary["screen"]
        report.paragraph(
            f"{screen['kept']} of {screen['of']} sites were chosen by attribution and patched exactly; p is "
            f"adjusted for all {screen['of']}."
        )
    for reason, count in summary.get("dropped", {}).items():
        report.paragraph(f"Left out: {count} pairs ({reason}).")


def _table(report: Report, summary: dict[str, Any]) -> None:
    value, _ = measure_of(summary)
    order = sorted(summary["sites"], key=lambda site: -abs(site[value] or 0.0))
    columns = [
        "site",
        "n",
        "queries",
        "share of the gap",
        "ratio of sums",
        "mean effect",
        "mean of ratios",
        "dropped",
    ]
    columns += ["p", "p (BH)"]
    rows: list[list[Cell]] = [
        [
            site["site"], site["n"], site["queries"], with_interval(site["share"], site["share_interval"]),
            with_interval(site["ratio_of_sums"], site["interval"]),
            with_interval(site["mean_effect"], site["mean_interval"]), site["mean_of_ratios"],
            f"{site['dropped_by_threshold']:.0%}", p_text(number_or_nan(site["p_holm"])),
            p_text(number_or_nan(site["p_bh"])),
        ]
        for site in order[:LISTED]
    ]  # fmt: skip
    told = (
        "Ratio of sums: sum(patched - base) / sum(perturbed - base). Mean of ratios: over pairs whose gap is not "
    )
    told += "too small; the share dropped stands beside it. p: Student's t of the queries' mean changes, "
    told += (
        f"Holm-corrected, and Benjamini-Hochberg's. The {min(LISTED, len(order))} largest of {len(order)}; all "
    )
    told += "are in summary.json."
    report.table(columns, rows, told)


def _splits(report: Report, summary: dict[str, Any]) -> None:
    value, title = measure_of(summary)
    for name, values in summary["splits"].items():
        leading = sorted(summary["sites"], key=lambda site: -abs(site[value] or 0.0))[:10]
        found = {group: {site["site"]: site for site in sites} for group, sites in values.items()}
        rows: list[list[Cell]] = []
        for site in leading:
            cells = [found[group].get(site["site"]) for group in values]
            interval = interval_of(value)
            rows.append(
                [site["site"], *(with_interval(one[value], one[interval]) if one else None for one in cells)]
            )
        sizes = {group: max((site["n"] for site in sites), default=0) for group, sites in values.items()}
        columns = ["site", *(f"{group} (n={sizes[group]})" for group in values)]
        report.table(columns, rows, f"By {name.replace('_', ' ')}: {title} of the ten leading sites.")


def _short(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
