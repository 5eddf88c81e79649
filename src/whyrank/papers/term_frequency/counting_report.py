"""TFC2 in the report: effects, violations and their fits over the number of occurrences."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from whyrank.encoders.site import short_name
from whyrank.evaluation.estimate import row_text
from whyrank.pages.page import Cell, Figure, Figures, Report
from whyrank.plots.lines import Point, line_plots

FIT_COLUMNS = (
    "head", "curve", "a", "b", "R2", "AICc", "best in", "verdict", "late over early", "documents",
)  # fmt: skip
VERDICTS = (
    "Verdict: from the slope of the last third of the curve over that of the first (marginal: of the gains), by "
    "bootstrap over queries. Fits: k up to 5; best in: the part of the draws in which a curve has the least AICc."
)


def counting_figures(told: dict[str, Any]) -> Figures:
    """Effects of the leading heads over k with their log fits, and violations."""
    curves = told["tfc2"]
    if not curves:
        return {}
    figures: Figures = {}
    if any(one["effects"] for one in curves.values()):
        figures["tfc2"] = _effects(curves)
    figures["violations"] = _violations(curves)
    return figures


def _effects(curves: dict[str, Any]) -> Figure:
    shown = {name: one["effects"] for name, one in curves.items() if one["effects"]}
    panels = {n: {short_name(s): _points(c) for s, c in effects.items()} for n, effects in shown.items()}
    thin = {n: {short_name(s): log_curve(c) for s, c in effects.items()} for n, effects in shown.items()}
    svg = line_plots(panels, "k, occurrences", "mean effect on the score", thin=thin)
    data: list[list[Cell]] = [
        [name, short_name(site), p["k"], p["mean"], p["low"], p["high"], p["n"], curve["verdict"]]
        for name, effects in shown.items() for site, curve in effects.items() for p in curve["points"]
    ]  # fmt: skip
    read = "; ".join(f"{name} ({curves[name]['documents']} documents): {_tally(e)}" for name, e in shown.items())
    caption = (
        "Mean effect of each leading head: k occurrences against none (cumulative), one more than k against k "
        f"(marginal); bands: 95% intervals; thin: a ln k + b, fitted to k up to 5. {read}."
    )
    return svg, caption, (["variant", "head", "k", "mean", "low", "high", "n", "verdict"], data)


def _tally(effects: dict[str, Any]) -> str:
    """`0.9 and 1.6 sublinear, 2.3 none`: heads by verdict."""
    found: dict[str, list[str]] = {}
    for site, curve in effects.items():
        found.setdefault(curve["verdict"], []).append(short_name(site))
    return ", ".join(f"{' '.join(heads)} {verdict}" for verdict, heads in found.items())


def _violations(curves: dict[str, Any]) -> Figure:
    panel = {name: _points(one["violations"]) for name, one in curves.items()}
    thin = {name: log_curve(one["violations"]) for name, one in curves.items()}
    svg = line_plots({"": panel}, "k, occurrences", "share of pairs that do not rise", thin={"": thin})
    data: list[list[Cell]] = [
        [name, p["k"], p["mean"], p["low"], p["high"], p["n"]]
        for name, one in curves.items() for p in one["violations"]["points"]
    ]  # fmt: skip
    read = "; ".join(_first_and_last(name, one["violations"]["points"]) for name, one in curves.items())
    caption = (
        "Pairs whose score does not rise, over k; bands: 95% intervals over queries; thin: a ln k + b, fitted to "
        f"k up to 5. {read}."
    )
    return svg, caption, (["variant", "k", "share", "low", "high", "n"], data)


def _first_and_last(name: str, points: list[dict[str, Any]]) -> str:
    ends = [points[0], points[-1]] if len(points) > 1 else points
    shown = ", ".join(f"{row_text(p, 'mean', '.0%')} at k = {p['k']}" for p in ends)
    return f"{name}: {shown} (n = {points[0]['n']})" if points else f"{name}: none"


def log_curve(curve: dict[str, Any]) -> list[Point]:
    """The fitted a ln k + b at every k of the curve's points."""
    fit = next((one for one in curve["fits"] if one["curve"] == "log"), None)
    if fit is None:
        return []
    return [Point(p["k"], fit["a"] * math.log(p["k"]) + fit["b"]) for p in curve["points"]]


def counting_tables(report: Report, told: dict[str, Any]) -> None:
    """How much was read, and every fit."""
    curves = told["tfc2"]
    if not curves:
        report.paragraph("No document was long enough, or had the term, for TFC2.")
        return
    own = " ".join(told["tfc2_leading"]) or "none"
    report.paragraph(
        f"Heads that stand out on TFC2 itself, at its largest k: {own}; on append, followed here: "
        f"{' '.join(told['leading'])}."
    )
    rows: list[list[Cell]] = [
        [name, one["documents"], one["adherent_documents"], one["words_kept"]["median"],
         one["words_kept"]["least"]]
        for name, one in curves.items()
    ]  # fmt: skip
    report.table(
        ["variant", "documents", "that rise at every k", "median words read", "least words read"],
        rows,
        "Words of the document that are read beside the slots; where slots leave less room, curves may differ.",
    )
    _verdicts(report, curves)
    for name, one in curves.items():
        for effects, documents, words in (
            (one["effects"], one["documents"], "all documents"),
            (one["effects_of_adherent"], one["adherent_documents"], "documents whose score rises at every k"),
        ):
            if effects:
                rows = list(_fit_rows(effects, documents))
                report.table(FIT_COLUMNS, rows, folded=f"Fits, {name}, {words} ({documents})")
    _violation_fits(report, curves)


def _verdicts(report: Report, curves: dict[str, Any]) -> None:
    """A row a head and variant: its shape, and how well the logarithm fits."""
    rows: list[list[Cell]] = []
    for name, one in curves.items():
        for site, curve in one["effects"].items():
            log = next((fit for fit in curve["fits"] if fit["curve"] == "log"), None)
            shown = _fit(log)[3:] if log else ["–", "–", "–"]
            rows.append([name, short_name(site), curve["verdict"], _ratio(curve["ratio"]), shown[0], shown[2]])
    if rows:
        columns = ["variant", "head", "verdict", "late over early", "R2 of a ln k + b", "log is best in"]
        report.table(columns, rows, VERDICTS)


def _fit_rows(effects: dict[str, Any], documents: int) -> Iterator[list[Cell]]:
    for site, curve in effects.items():
        last: list[Cell] = [curve["verdict"], _ratio(curve["ratio"]), documents]
        if not curve["fits"]:
            yield [short_name(site), "too few points", None, None, None, None, None, *last]
        for fit in curve["fits"]:
            yield [short_name(site), *_fit(fit), *last]


def _violation_fits(report: Report, curves: dict[str, Any]) -> None:
    rows: list[list[Cell]] = [
        [name, *_fit(fit), one["violations"]["points"][0]["n"]]
        for name, one in curves.items() for fit in one["violations"]["fits"]
    ]  # fmt: skip
    if rows:
        columns = ["variant", "curve", "a", "b", "R2", "AICc", "best in", "documents"]
        report.table(columns, rows, "Fits of the share of pairs that do not rise, k up to 5.")


def _fit(fit: dict[str, Any]) -> list[Cell]:
    aicc = "–" if fit["aicc"] is None else f"{fit['aicc']:.1f}"
    shown = row_text(fit, "r2", ".2f", "r2_interval")
    return [
        fit["curve"],
        f"{fit['a']:+.3g}",
        f"{fit['b']:+.3g}",
        shown,
        aicc,
        "–" if fit["best_in"] is None else f"{fit['best_in']:.0%}",
    ]


def _ratio(ratio: dict[str, Any] | None) -> str:
    return "–" if ratio is None else row_text(ratio, "value", ".2f")


def _points(curve: dict[str, Any]) -> list[Point]:
    return [Point(p["k"], p["mean"], p["low"], p["high"]) for p in curve["points"]]
