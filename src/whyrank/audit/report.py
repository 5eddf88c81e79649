"""The report of an audit."""

from __future__ import annotations

import re
from html import escape

from whyrank.audit.figures import difference_curves, not_rising_curves, outcome_bars
from whyrank.audit.results import NEUTRAL_SHARE, OUTCOMES, Audit, AxiomSummary, Violation
from whyrank.evaluation.curves import Fit
from whyrank.evaluation.estimate import NOTHING, p_text, percent
from whyrank.pages.glossary import given
from whyrank.pages.numbers import counted, plural
from whyrank.pages.page import Cell, Data, Report
from whyrank.text.tokens import Span

#: Characters of a text shown around a change.
AROUND = 110
OUTCOMES_CAPTION = (
    "The share of pairs on which each ranker scores the preferred side higher, neither, or lower. For TFC2 that "
    "is what TFC1 asks of every step; TFC2 itself, that gains fall, has its own table below."
)


def audit_page(audit: Audit) -> Report:
    """The page: the verdict, the outcomes as bars, then the numbers."""
    names = ", ".join(one.name for one in audit.rankers)
    page = Report(
        f"Does it behave? An audit of {names}",
        f"{counted(audit.pairs, 'minimal pair')}; intervals over queries. A ranker follows an axiom when its mean "
        "difference is towards the preferred side and significant (0.05, Holm).",
        audit.verdict(),
    )
    page.heading("Outcomes")
    figures = audit_figures(audit)
    page.figure(figures["outcomes"], OUTCOMES_CAPTION, _outcome_data(audit), "outcomes")
    _numbers(page, audit)
    curved = _curved(audit)
    if curved:
        page.heading("Term frequency over k (TFC2)")
        for axiom, summaries in curved.items():
            _curves(page, axiom, summaries, figures)
        _fits(page, audit)
    page.heading("Why violated?")
    _why(page, audit)
    page.heading("The worst violations")
    _worst(page, audit)
    page.heading("How it was scored")
    _rankers(page, audit)
    _dropped(page, audit)
    return page


def audit_figures(audit: Audit) -> dict[str, str]:
    """All figures as SVG, by name."""
    found = {"outcomes": outcome_bars(audit.axioms)}
    for axiom, summaries in _curved(audit).items():
        found[_file_name(axiom)] = difference_curves(summaries)
        found[f"{_file_name(axiom)}-violations"] = not_rising_curves(summaries)
    return found


def _file_name(axiom: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", axiom.lower())[:80]


def _outcome_data(audit: Audit) -> Data:
    rows = [[s.ranker, s.axiom, s.n, *(s.outcome(name).value for name in OUTCOMES)] for s in audit.axioms]
    return ["ranker", "axiom", "n", *OUTCOMES], rows


def _rankers(page: Report, audit: Audit) -> None:
    for one in audit.rankers:
        dropped = sum(one.dropped.values())
        more = f"; {counted(dropped, 'pair')} dropped (tokenizer or length)" if dropped else ""
        page.paragraph(
            f"{one.name} ({one.source}): differences up to {one.delta:.3g} are neutral, "
            f"{percent(NEUTRAL_SHARE)} of the standard deviation of its own scores unless set; "
            f"{counted(one.inputs, 'distinct input')} scored{more}."
        )
        for sentence in one.sentences():
            page.paragraph(f"{one.name}: {sentence}.")
        for sentence in one.texts.sentences(one.name):
            page.paragraph(f"{sentence[0].upper()}{sentence[1:]}; the texts that were scored are in rows.parquet.")


def _curved(audit: Audit) -> dict[str, list[AxiomSummary]]:
    """The axioms that have a curve over k: TFC2 in its variants, whatever their parameters."""
    known = [f"TFC2:{variant}" for variant in ("cumulative", "marginal", "restore")]
    variant_of = lambda axiom: ":".join(axiom.split(":")[:2])  # noqa: E731
    found: dict[str, list[AxiomSummary]] = {}
    for summary in audit.axioms:
        if variant_of(summary.axiom) in known and len(summary.curve) > 2:
            found.setdefault(summary.axiom, []).append(summary)
    return dict(sorted(found.items(), key=lambda item: (known.index(variant_of(item[0])), item[0])))


def _curves(page: Report, axiom: str, summaries: list[AxiomSummary], figures: dict[str, str]) -> None:
    variant = axiom.removeprefix("TFC2:")
    points: list[list[Cell]] = [
        [s.ranker, p.k, p.difference.pairs, p.difference.value, p.difference.low, p.difference.high,
         p.not_rising.value, p.violates.value]
        for s in summaries
        for p in s.curve
    ]  # fmt: skip
    data: Data = (
        ["ranker", "k", "n", "difference", "low", "high", "not rising", "falls beyond delta"], points
    )  # fmt: skip
    caption = f"TFC2, {variant}: mean difference over k, as a share of the largest; thin, the best fit."
    page.figure(figures[_file_name(axiom)], caption, data)
    caption = f"TFC2, {variant}: the share of pairs whose score does not rise, over k; thin, the best fit."
    page.figure(figures[f"{_file_name(axiom)}-violations"], caption, data)


def _dropped(page: Report, audit: Audit) -> None:
    rows: list[list[Cell]] = [
        [axiom, reason, n] for axiom, reasons in audit.dropped.items() for reason, n in reasons.items()
    ]
    rows += [[f"pairs, by {one.name}", reason, n] for one in audit.rankers for reason, n in one.dropped.items()]
    if rows:
        page.table(["dropped from", "reason", "documents or pairs"], rows)
    else:
        page.paragraph("No document and no pair was dropped.")


def _numbers(page: Report, audit: Audit) -> None:
    order = list(dict.fromkeys(summary.axiom for summary in audit.axioms))
    summaries = sorted(audit.axioms, key=lambda one: order.index(one.axiom))
    rows: list[list[Cell]] = [
        [s.axiom, s.ranker, s.n, s.holds.percent(), s.violates.percent(),
         s.mean.text("+.3g") + " *" * s.is_significant]
        for s in summaries
    ]  # fmt: skip
    page.table(["axiom", "ranker", "pairs", "holds", "violates", "mean difference"], rows, _numbers_caption(audit))
    more: list[list[Cell]] = [
        [s.axiom, s.ranker, s.queries, percent(s.neutral.value), f"{s.median:+.3g}", p_text(s.p_holm, s.queries)]
        for s in summaries
    ]
    columns = ["axiom", "ranker", "queries", "neutral", "median difference", "p (Holm)"]
    caption = "p: Student's t of the queries' mean differences, Holm-corrected over the table."
    page.table(columns, more, caption, folded="Queries, neutral pairs, medians and p-values")


def _numbers_caption(audit: Audit) -> str:
    other = sorted({s.axiom for s in audit.axioms if s.prefers == "baseline"})
    caption = "In brackets 95% intervals over queries. Mean difference: perturbed - baseline, in score units; * "
    caption += "significant at 0.05 (Holm)."
    return (
        f"{caption} {', '.join(other)} {plural(len(other), 'prefers', 'prefer')} the baseline."
        if other
        else caption
    )


def _fits(page: Report, audit: Audit) -> None:
    found = [
        (s, what, fits)
        for s in audit.axioms
        for what, fits in (("difference", s.fits), ("does not rise", s.violation_fits))
        if fits
    ]
    columns = ["axiom", "ranker", "of", "best fit", "R2", "AICc"]
    caption = "Each curve is y = a f(k) + b; the best has the lowest AICc."
    page.table(columns, [_fit(s, what, fits[0]) for s, what, fits in found], caption)
    every = [_fit(s, what, fit) for s, what, fits in found for fit in fits]
    page.table([*columns[:3], "fit", *columns[4:]], every, folded="All fits")
    falling: list[list[Cell]] = [
        [s.axiom, s.ranker, s.gain_falls.percent()] for s in audit.axioms if s.gain_falls is not None
    ]
    if falling:
        caption = "TFC2 itself: the share of steps from k to k + 1 in which the marginal gain falls."
        page.table(["axiom", "ranker", "gain falls"], falling, caption)


def _fit(summary: AxiomSummary, what: str, fit: Fit) -> list[Cell]:
    curve = "k" if fit.curve == "linear" else f"{fit.curve}(k)"
    written = f"{fit.a:+.3g} {curve} {fit.b:+.3g}"
    return [summary.axiom, summary.ranker, what, written, _number(fit.r2, ".2f"), _number(fit.aicc, ".1f")]


def _why(page: Report, audit: Audit) -> None:
    rows: list[list[Cell]] = [
        [s.axiom, s.ranker, c.feature, c.violating, c.adhering, c.cliffs_delta.text("+.2f")]
        for s in audit.axioms
        for c in s.why
    ]
    if not rows:
        page.paragraph("Too few violations to compare them with the pairs that adhere.")
        return
    columns = ["axiom", "ranker", "feature", "violating (median)", "adhering (median)", "Cliff's delta"]
    caption = (
        "Cliff's delta: +1 if every violating pair has more of it than every adhering one, -1 if less, 0 if even; "
    )
    caption += "in brackets its 95% interval over queries. Position: 0 at the text's start, 1 at its end."
    page.table(columns, rows, caption)


def _worst(page: Report, audit: Audit) -> None:
    for one in audit.axioms:
        if one.worst:
            items = "".join(map(_violation, one.worst))
            violating = round((one.violates.value or 0.0) * one.n)
            title = f"{one.axiom}, {one.ranker}: {len(one.worst)} of {counted(violating, 'violation')}"
            page.html(f"<details><summary>{escape(title)}</summary><ol>{items}</ol></details>")
    if not any(one.worst for one in audit.axioms):
        page.paragraph("No pair violates an axiom.")


def _violation(one: Violation) -> str:
    before = _excerpt(one.baseline_text, one.baseline_spans, "other")
    after = _excerpt(one.perturbed_text, one.perturbed_spans, "")
    query = given(f"{escape(one.query)} <small>({escape(one.pair)})</small>")
    return (
        f"<li>{query}<br><b>baseline {one.baseline:.3f}:</b> {given(before)}<br>"
        f"<b>perturbed {one.perturbed:.3f}:</b> {given(after)}</li>"
    )


def _excerpt(text: str, spans: tuple[Span, ...], mark: str) -> str:
    """The text around the change, the change marked."""
    start = max(0, (spans[0][0] if spans else 0) - AROUND)
    end = min(len(text), (spans[-1][1] if spans else 0) + AROUND, start + 6 * AROUND)
    shown, place = "…" if start else "", start
    for a, b in spans:
        a, b = min(a, end), min(b, end)
        shown += f'{escape(text[place:a])}<mark class="{mark}">{escape(text[a:b])}</mark>'
        place = b
    return shown + escape(text[place:end]) + ("…" if end < len(text) else "")


def _number(value: float | None, form: str) -> str:
    return NOTHING if value is None else f"{value:{form}}"
