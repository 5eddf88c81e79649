"""The tables of the report: sets of pairs, the leading heads, estimators, open questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from whyrank.audit.results import OUTCOMES, AxiomSummary
from whyrank.encoders.site import short_name
from whyrank.evaluation.estimate import estimate_text
from whyrank.evaluation.interval import TOO_FEW
from whyrank.pages.page import Cell, Report
from whyrank.papers.term_frequency.figures import has_gap
from whyrank.papers.term_frequency.parts import GroupContrast, PairedDifference, PairSet, Questions, Together
from whyrank.papers.term_frequency.sets import CONTROLS

if TYPE_CHECKING:
    from whyrank.papers.term_frequency.results import TermFrequencyStudy

#: Rows of a table.
LISTED = 12
RAW = "raw effect"


def sets_table(report: Report, study: TermFrequencyStudy) -> None:
    """Every set of pairs: how much, how large the gap, and whether shares of it mean anything."""
    scales = {name: _scale(name, study.sets) for name in study.sets}
    rows: list[list[Cell]] = [
        [name, f"{one.pairs} of {one.queries} queries", _gap(one), f"{one.gap.median:+.3g}",
         f"{one.keep.adherent} of {one.pairs}", one.keep.correlation_with_all, scales[name]]
        for name, one in study.sets.items()
    ]  # fmt: skip
    columns = ["set", "pairs", "mean gap", "median gap", "adherent", "r of adherent with all", "shown as"]
    report.table(
        columns,
        rows,
        "Gap: perturbed less baseline score. Null: a word of another query in the term's place. Minimal context: "
        "all but five words on either side of the change are fillers. Adherent: the perturbed side scores higher; "
        "r: their map of heads against that of all pairs.",
    )
    raw = [name for name, scale in scales.items() if scale == RAW]
    if raw:
        report.paragraph(
            f"Shown as raw effects on the score: {'; '.join(raw)}. The interval of the mean gap (for a control: "
            "of what it controls) holds 0, and shares of a gap that may be 0 mean nothing."
        )


def _gap(one: PairSet) -> str:
    return estimate_text(one.gap.mean, one.mean_gap.interval, "+.3g")


def _scale(name: str, sets: Mapping[str, PairSet]) -> str:
    """Controls are on the scale of what they control."""
    if not has_gap(name, sets):
        return RAW
    return f"share of {CONTROLS[name]}'s gap" if name in CONTROLS else "share of its gap"


def leading_tables(report: Report, study: TermFrequencyStudy) -> None:
    _together(report, study.together)
    every = study.append_less_prepend
    caption = (
        "Effect on the score, the same query and document with the term at the end less at the start: the "
        f"largest of all {len(every)} heads, p Holm-corrected over all of them."
    )
    _differences(report, every, caption)
    caption = (
        "The same for the leading heads by category of tokens. They were chosen on the same pairs: look at the "
        "pattern, not at the sizes."
    )
    _differences(report, study.append_less_prepend_by_category, caption)


def _together(report: Report, joint: Together) -> None:
    first, second = (" ".join(heads) or "none" for heads in joint.halves)
    report.paragraph(
        f"Leading heads patched together at the injected term. One half of the queries chose {first}, the other "
        f"{second}; each choice was measured on the other half."
    )
    rows: list[list[Cell]] = []
    for one, words in ((joint.positive, "heads whose share is above 0"), (joint.all, "all of them")):
        if one:
            parts = {"all ranks": one.share, **{f"ranks {band}": share for band, share in one.bands.items()}}
            rows += [[words, part, share.text(), share.pairs] for part, share in parts.items()]
    if rows:
        report.table(["patched", "documents", "share of the gap", "pairs"], rows)


def _differences(report: Report, found: Sequence[PairedDifference], caption: str) -> None:
    order = sorted(found, key=lambda one: -abs(one.difference.value or 0.0))
    cells: list[list[Cell]] = [
        [one.name, one.category or "all", one.difference.text("+.3g"), one.difference.pairs,
         one.difference.queries, one.p_holm]
        for one in order[:LISTED]
    ]  # fmt: skip
    if cells:
        report.table(["head", "tokens", "append less prepend", "pairs", "queries", "p (Holm)"], cells, caption)


def estimators_table(report: Report, study: TermFrequencyStudy) -> None:
    """Which heads survive which estimator."""
    found = study.estimators
    if not found:
        report.paragraph("Nothing was estimated.")
        return
    if all(one.survives is None for row in found for one in row.all.values()):
        report.paragraph(f"Which heads survive which estimator cannot be said: {TOO_FEW}.")
        return
    counts = {name: sum(bool(row.all[name].survives) for row in found) for name in found[0].all}
    every = sum(all(one.survives for one in row.all.values()) for row in found)
    report.paragraph(
        f"Of {len(found)} heads "
        + ", ".join(f"{count} survive the {name}" for name, count in counts.items())
        + f"; {every} survive all three. To survive is family-wise (a max-t bootstrap over all heads): one false "
        "survivor in twenty studies."
    )
    order = sorted(found, key=lambda row: -abs(row.ratio_of_sums.estimate.value or 0.0))[:LISTED]
    rows: list[list[Cell]] = [
        [short_name(row.site), *(one.estimate.text() for one in row.all.values()),
         " ".join("yes" if one.survives else "no" for one in row.all.values()), row.pairs,
         row.thresholded_mean.estimate.pairs]
        for row in order
    ]  # fmt: skip
    report.table(
        ["head", "ratio of sums", "thresholded mean of ratios", "mean of ratios (papers)", "survives", "pairs",
         "above threshold"],
        rows,
        f"The {len(rows)} largest. Threshold: |gap| of at least {found[0].threshold:.4g}.",
    )  # fmt: skip


def question_tables(report: Report, study: TermFrequencyStudy) -> None:
    """Other terms and texts, natural differences, why pairs violate."""
    _likeness(report, study.questions)
    _audits(report, study.questions.audits)
    _why(report, study.questions.audits)
    _violating(report, study.questions.violating_against_adhering)


def _likeness(report: Report, asked: Questions) -> None:
    fillers = {f"{name} fillers": one for name, one in asked.fillers.items()}
    every = {"each document's own term": asked.document_terms, "sentences restored": asked.restored, **fillers}
    rows: list[list[Cell]] = [
        [name, one.pairs, f"{one.gap:+.3g}", one.map.pearson.text(), " ".join(one.leading)]
        if one
        else [name, 0, "–", "no such pairs", "–"]
        for name, one in every.items()
    ]
    columns = ["pairs", "n", "mean gap", "r of the map with append's", "heads that stand out"]
    report.table(columns, rows, "The same heads by another choice of term, text or filler?")


def _audits(report: Report, audits: Mapping[str, Sequence[AxiomSummary]]) -> None:
    rows: list[list[Cell]] = [
        [name, one.n, one.queries, *(one.outcome(outcome).percent() for outcome in OUTCOMES),
         one.mean.text("+.3g")]
        for name, summaries in audits.items() for one in summaries
    ]  # fmt: skip
    if rows:
        columns = ["variation", "pairs", "queries", *OUTCOMES, "mean difference"]
        caption = "Repetition beside sentences added, natural differences, and subjects restored, over all ranks."
        report.table(columns, rows, caption)


def _why(report: Report, audits: Mapping[str, Sequence[AxiomSummary]]) -> None:
    """How violating pairs differ from adhering ones."""
    rows: list[list[Cell]] = [
        [name, why.feature, why.violating, why.adhering, why.cliffs_delta.text("+.2f"),
         *(round((one.outcome(outcome).value or 0.0) * one.n) for outcome in ("violates", "holds"))]
        for name, summaries in audits.items() for one in summaries for why in one.why
    ]  # fmt: skip
    if not rows:
        report.paragraph("Too few pairs violate to compare them with those that hold.")
        return
    columns = [
        "variation", "feature", "median of violating", "median of adhering", "Cliff's delta", "violate", "hold",
    ]  # fmt: skip
    report.table(
        columns,
        rows,
        "How pairs that violate differ from pairs that hold; +1: every violating pair has more of it than every "
        "adhering one, 0: even.",
    )


def _violating(report: Report, found: Sequence[GroupContrast]) -> None:
    """Shares first: mean effects differ by construction, for pairs are split by their gap."""
    order = sorted(found, key=lambda row: -abs(row.share_difference.value or 0.0))
    significant = sum(row.is_significant for row in found)
    rows: list[list[Cell]] = [
        [short_name(row.site), row.share_violating.text(), row.violating.pairs, row.share_adhering.text(),
         row.adhering.pairs, row.share_difference.text(), row.p_holm, row.difference.text()]
        for row in order[:LISTED]
    ]  # fmt: skip
    if not rows:
        return
    columns = ["head", "share in violating", "pairs", "share in adhering", "pairs", "difference of shares",
               "p (Holm)", "difference of mean effects"]  # fmt: skip
    report.table(
        columns,
        rows,
        f"Do heads take another part in the gap of pairs that violate TFC1? {significant} of {len(found)} do, "
        "after Holm's correction; the largest differences. Mean effects differ by construction (pairs are split "
        "by their gap), so look at the shares.",
    )
