"""The report of a patching run."""

from __future__ import annotations

from whyrank.axioms.same_score import no_gap
from whyrank.evaluation.estimate import NOTHING, p_text, percent
from whyrank.interventions.figures import about, make_figures
from whyrank.interventions.results import Effects
from whyrank.interventions.statistics import SiteSummary
from whyrank.pages.numbers import counted
from whyrank.pages.page import Cell, Figures, Report

#: Sites in the tables, and in those of splits.
LISTED, LISTED_IN_SPLITS = 60, 10
#: The figures that show the verdict.
MAPS = ("heads", "blocks", "categories", "leading")


def effects_page(effects: Effects) -> Report:
    """The page: the verdict, the maps, then the numbers."""
    figures = make_figures(effects)
    report = Report(
        f"What causes the score? {about(effects)}",
        f"{counted(effects.pairs, 'minimal pair')} of {counted(effects.queries, 'query', 'queries')}; intervals "
        "over queries.",
        effects.verdict(),
    )
    report.heading("Effects")
    for name in MAPS:
        if name in figures:
            report.figure(*figures[name], name)
    _about_pairs(report, effects)
    report.heading("Numbers")
    _numbers(report, effects)
    _splits(report, effects, figures)
    _comparisons(report, effects, figures)
    _agreement(report, effects, figures)
    effects.changed_texts.add_to(report, effects.texts.sentences(effects.ranker))
    return report


def _about_pairs(report: Report, effects: Effects) -> None:
    gap = effects.gap
    what = f"Mean {effects.metric} (the metric)" if effects.metric else "Mean score"
    report.paragraph(
        f"{what} of the baseline {gap.base:.4g}, of the perturbed text {gap.perturbed:.4g}: a gap of "
        f"{gap.mean:+.4g} (median {gap.median:+.4g})."
    )
    for sentence in no_gap(gap.same, effects.pairs):
        report.paragraph(f"{sentence[0].upper()}{sentence[1:]}.")
    report.paragraph(_kept(effects))
    if effects.screen:
        report.paragraph(
            f"{effects.screen.kept} of {counted(effects.screen.of, 'site')} were chosen by attribution and "
            f"patched exactly; p is adjusted for all {effects.screen.of}."
        )
    for reason, count in effects.dropped.items():
        report.paragraph(f"Dropped: {counted(count, 'pair')} ({reason}).")


def _kept(effects: Effects) -> str:
    """Which pairs count, and whether that matters."""
    keep = effects.keep
    said = f"The perturbed text scores higher in {keep.adherent} of {counted(keep.pairs, 'pair')}; "
    said += "only these are used." if keep.rule == "adherent" else "all are used."
    if keep.correlation_with_all is not None:
        said += f" The map of these pairs correlates with that of all at {keep.correlation_with_all:.3f}"
        change = keep.largest_change
        if change:
            said += (
                f"; the largest change is at {change.site}, {change.all:.3f} with all and {change.adherent:.3f} "
            )
            said += "with these"
        said += "."
    return said


def _numbers(report: Report, effects: Effects) -> None:
    some = effects.leading[:LISTED]
    report.table(
        ["site", "pairs", "share of the gap", "mean effect", "p", "p (BH)"],
        [
            [site.site, site.n, site.share.text("+.3f"), site.mean_effect.text("+.3f"), p_text(site.p_holm),
             p_text(site.p_bh)]
            for site in some
        ],
        f"{_listed(len(some), len(effects.sites))} {effects.FILE}. In brackets 95% intervals over queries. p: "
        "Student's t of the queries' mean changes, Holm-corrected, and Benjamini-Hochberg's.",
    )  # fmt: skip
    report.table(
        ["site", "queries", "ratio of sums", "mean change", "mean of ratios", "dropped"],
        [
            [site.site, site.queries, site.ratio_of_sums.text("+.3f"), site.mean_change.text("+.3f"),
             _three_digits(site.mean_of_ratios), percent(site.dropped)]
            for site in some
        ],
        "Ratio of sums: sum(patched - base) / sum(perturbed - base). Mean change: from the score of the run that "
        "was changed. Mean of ratios: over pairs whose gap is not too small; the share dropped stands beside it.",
        folded="Other estimates of the same effects",
    )  # fmt: skip


def _listed(shown: int, sites: int) -> str:
    """Which sites a table has, and that a file has all."""
    if shown < sites:
        return f"The {shown} largest of {sites} sites; all are in"
    return "All sites, the largest first; they are also in"


def _three_digits(value: float | None) -> str:
    return NOTHING if value is None else f"{value:+.3f}"


def _splits(report: Report, effects: Effects, figures: Figures) -> None:
    if not effects.splits:
        return
    report.heading("By rank, term and axiom")
    for name in figures:
        if name.startswith("heads-by-"):
            report.figure(*figures[name], name)
    leading = effects.leading[:LISTED_IN_SPLITS]
    for name, groups in effects.splits.items():
        found = {group: {site.site: site for site in sites} for group, sites in groups.items()}
        rows: list[list[Cell]] = [
            [site.site, *(_in_split(effects, sites.get(site.site)) for sites in found.values())]
            for site in leading
        ]
        sizes = {group: max((site.n for site in sites), default=0) for group, sites in groups.items()}
        columns = ["site", *(f"{group} ({counted(size, 'pair')})" for group, size in sizes.items())]
        what = f"{effects.measure.title} of the {len(leading)} leading sites"
        report.table(columns, rows, f"By {name.replace('_', ' ')}: {what}.")


def _in_split(effects: Effects, site: SiteSummary | None) -> str:
    return NOTHING if site is None else effects.measure.of(site).text("+.3f")


def _comparisons(report: Report, effects: Effects, figures: Figures) -> None:
    if not (effects.between_axioms or effects.compared):
        return
    report.heading("Maps compared")
    for one in effects.between_axioms:
        report.paragraph(
            f"{one.axiom} against {one.other}: Pearson {one.correlation.text()}, Spearman "
            f"{_three_digits(one.correlation.spearman)}."
        )
    if "compared" in figures:
        report.figure(*figures["compared"], "compared")


def _agreement(report: Report, effects: Effects, figures: Figures) -> None:
    found = effects.agreement
    if not found:
        return
    report.heading("How good is the approximation?")
    report.paragraph(
        f"Attribution was compared with exact patching on {counted(found.pairs, 'pair')} "
        f"({counted(found.rows, 'row')}): Pearson over rows {_three_digits(found.pearson_rows)}, over the map "
        f"{found.correlation.text()}, Spearman {_three_digits(found.correlation.spearman)}; "
        f"{found.leading.shared} of the {found.leading.of} leading sites are the same."
    )
    report.figure(*figures["agreement"], "agreement")
