"""TFC2 in the report: effects, violations and their fits over the number of occurrences."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from whyrank.encoders.site import short_name
from whyrank.evaluation.estimate import NOTHING, percent
from whyrank.pages.page import Cell, Figure, Figures, Report
from whyrank.papers.term_frequency.parts import Counted, Curve, CurveFit, EffectCurve
from whyrank.plots import lines
from whyrank.plots.lines import line_plots

if TYPE_CHECKING:
    from whyrank.papers.term_frequency.results import TermFrequencyStudy

Variants = Mapping[str, Counted]
SHAPES = (
    "Shape: from the slope of the last third of the curve over that of the first (marginal: of the gains), by "
    "bootstrap over queries. Fits: k up to 5; best in: the share of draws in which a curve has the least AICc."
)


def counting_figures(study: TermFrequencyStudy) -> Figures:
    """Effects of the leading heads over k with their log fits, and violations."""
    variants = study.counting.variants
    if not variants:
        return {}
    figures: Figures = {}
    if any(one.effects for one in variants.values()):
        figures["tfc2"] = _effects(variants)
    figures["violations"] = _violations(variants)
    return figures


def _effects(variants: Variants) -> Figure:
    shown = {name: one.effects for name, one in variants.items() if one.effects}
    panels = {n: {short_name(s): _points(c) for s, c in effects.items()} for n, effects in shown.items()}
    thin = {n: {short_name(s): log_curve(c) for s, c in effects.items()} for n, effects in shown.items()}
    svg = line_plots(panels, "k, occurrences", "mean effect on the score", thin=thin)
    data: list[list[Cell]] = [
        [name, short_name(site), *row, curve.shape]
        for name, effects in shown.items() for site, curve in effects.items() for row in _cells(curve)
    ]  # fmt: skip
    read = "; ".join(f"{name} ({variants[name].documents} documents): {_tally(e)}" for name, e in shown.items())
    caption = (
        "Mean effect of each leading head: k occurrences against none (cumulative), one more than k against k "
        f"(marginal); bands: 95% intervals; thin: a ln k + b, fitted to k up to 5. {read}."
    )
    return svg, caption, (["variant", "head", "k", "mean", "low", "high", "n", "shape"], data)


def _tally(effects: Mapping[str, EffectCurve]) -> str:
    """`0.9 1.6 sublinear, 2.3 none`: heads by shape."""
    found: dict[str, list[str]] = {}
    for site, curve in effects.items():
        found.setdefault(curve.shape, []).append(short_name(site))
    return ", ".join(f"{' '.join(heads)} {shape}" for shape, heads in found.items())


def _violations(variants: Variants) -> Figure:
    panel = {name: _points(one.violations) for name, one in variants.items()}
    thin = {name: log_curve(one.violations) for name, one in variants.items()}
    svg = line_plots({"": panel}, "k, occurrences", "share of pairs that do not rise", thin={"": thin})
    data: list[list[Cell]] = [[name, *row] for name, one in variants.items() for row in _cells(one.violations)]
    read = "; ".join(_first_and_last(name, one.violations) for name, one in variants.items())
    caption = (
        "Pairs whose score does not rise, over k; bands: 95% intervals over queries; thin: a ln k + b, fitted to "
        f"k up to 5. {read}."
    )
    return svg, caption, (["variant", "k", "share", "low", "high", "n"], data)


def _first_and_last(name: str, curve: Curve) -> str:
    points = curve.points
    if not points:
        return f"{name}: none"
    ends = [points[0], points[-1]] if len(points) > 1 else points
    shown = ", ".join(f"{point.mean.percent()} at k = {point.k}" for point in ends)
    return f"{name}: {shown} (n = {points[0].mean.pairs})"


def _points(curve: Curve) -> list[lines.Point]:
    return [lines.Point(one.k, one.mean.value or 0.0, one.mean.low, one.mean.high) for one in curve.points]


def _cells(curve: Curve) -> Iterator[list[Cell]]:
    for one in curve.points:
        yield [one.k, one.mean.value, one.mean.low, one.mean.high, one.mean.pairs]


def log_curve(curve: Curve) -> list[lines.Point]:
    """The fitted a ln k + b at every k of the curve's points."""
    fit = curve.log_fit
    return [lines.Point(one.k, fit.a * math.log(one.k) + fit.b) for one in curve.points] if fit else []


def counting_tables(report: Report, study: TermFrequencyStudy) -> None:
    """How much was read, and every fit."""
    variants = study.counting.variants
    if not variants:
        report.paragraph("No document was long enough, or had the term, for TFC2.")
        return
    own = " ".join(study.counting.leading) or "none"
    report.paragraph(
        f"Heads that stand out on TFC2 itself, at its largest k: {own}; on append, followed here: "
        f"{' '.join(study.leading)}."
    )
    rows: list[list[Cell]] = [
        [name, one.documents, one.adherent_documents, one.median_words, one.least_words]
        for name, one in variants.items()
    ]
    report.table(
        ["variant", "documents", "that rise at every k", "median words read", "least words read"],
        rows,
        "Words of the document that are read beside the slots; where slots leave less room, curves may differ.",
    )
    _shapes(report, variants)
    _fits(report, variants)
    _violation_fits(report, variants)


def _shapes(report: Report, variants: Variants) -> None:
    """One row per head and variant: its shape, and how well the logarithm fits."""
    rows: list[list[Cell]] = []
    for name, one in variants.items():
        for site, curve in one.effects.items():
            _, _, _, r2, _, best = _fit(curve.log_fit)
            rows.append([name, short_name(site), curve.shape, curve.ratio.text(".2f"), r2, best])
    if rows:
        columns = ["variant", "head", "shape", "late over early", "R2 of a ln k + b", "log is best in"]
        report.table(columns, rows, SHAPES)


def _fits(report: Report, variants: Variants) -> None:
    columns = ["head", "curve", "a", "b", "R2", "AICc", "best in"]
    for name, one in variants.items():
        for effects, documents, which in (
            (one.effects, one.documents, "all documents"),
            (one.effects_of_adherent, one.adherent_documents, "documents whose score rises at every k"),
        ):
            if effects:
                rows = [[short_name(site), *fit] for site, curve in effects.items() for fit in _fit_rows(curve)]
                report.table(columns, rows, folded=f"Fits, {name}, {which} ({documents})")


def _fit_rows(curve: EffectCurve) -> list[list[Cell]]:
    return [_fit(fit) for fit in curve.fits] or [["too few points", None, None, None, None, None]]


def _violation_fits(report: Report, variants: Variants) -> None:
    rows: list[list[Cell]] = [
        [name, *_fit(fit), one.violations.points[0].mean.pairs]
        for name, one in variants.items() for fit in one.violations.fits
    ]  # fmt: skip
    if rows:
        columns = ["variant", "curve", "a", "b", "R2", "AICc", "best in", "documents"]
        report.table(columns, rows, "Fits of the share of pairs that do not rise, k up to 5.")


def _fit(fit: CurveFit | None) -> list[Cell]:
    """The curve, a, b, R2, AICc, and in which share of draws it is the best."""
    if fit is None:
        return [NOTHING] * 6
    aicc = NOTHING if fit.aicc is None else f"{fit.aicc:.1f}"
    return [fit.curve, f"{fit.a:+.3g}", f"{fit.b:+.3g}", fit.r2.text(".2f"), aicc, percent(fit.best_in)]
