"""The report of an audit."""

from __future__ import annotations

import re
from html import escape
from pathlib import Path
from typing import Any

from whyrank.axioms.audit import Audit, Row
from whyrank.axioms.summary import AxiomSummary
from whyrank.evaluation.estimate import estimate_text, p_text
from whyrank.reports.audit_figures import curves, outcome_bars
from whyrank.reports.html import Cell, Data, Figures, Report
from whyrank.store.atomic import whole_file, write_json, write_text
from whyrank.text.tokens import Span

#: Characters of a text shown around a change.
AROUND = 110


def write_audit(audit: Audit, folder: Path, manifest: dict[str, Any]) -> list[Path]:
    """audit.json, rows.parquet, the figures and report.html."""
    paths = [folder / "audit.json", folder / "rows.parquet"]
    write_json(paths[0], audit.to_json())
    with whole_file(paths[1]) as partial:
        audit.to_pandas().to_parquet(partial, index=False)
    figures = _figures(audit)
    for name, (svg, _, _) in figures.items():
        paths.append(folder / f"{name}.svg")
        write_text(paths[-1], svg)
    return [*paths, _report(audit, figures).write(folder / "report.html", manifest)]


def _figures(audit: Audit) -> Figures:
    columns = ["ranker", "axiom", "n", "holds", "neutral", "violates"]
    rows: list[list[Cell]] = [[s.ranker, s.axiom, s.n, *s.shares.values()] for s in audit.summaries]
    caption = (
        "The share of pairs on which each ranker scores the preferred side higher, neither, or lower. For TFC2 "
    )
    caption += "that is what TFC1 asks of every step; TFC2 itself, that gains fall, has its own table below."
    found: Figures = {"outcomes": (outcome_bars(audit.summaries), caption, (columns, rows))}
    for axiom in _curved(audit):
        mine = [s for s in audit.summaries if s.axiom == axiom and len(s.curve) > 2]
        variant, name = axiom.removeprefix("TFC2:"), re.sub(r"[^a-z0-9]+", "-", axiom.lower())[:80]
        if mine:
            points: list[list[Cell]] = [
                [s.ranker, p.k, p.n, p.difference, *p.interval.ends, p.not_rising, p.violates]
                for s in mine
                for p in s.curve
            ]
            names = ["ranker", "k", "n", "difference", "low", "high", "not rising", "falls beyond delta"]
            data: Data = (names, points)
            told = f"TFC2, {variant}: mean difference over k, as a share of the largest; dotted, the best fit."
            found[name] = (curves(mine, "difference"), told, data)
            told = f"TFC2, {variant}: the share of pairs whose score does not rise, over k; dotted, the best fit."
            found[f"{name}-violations"] = (curves(mine, "not_rising"), told, data)
    return found


def _curved(audit: Audit) -> list[str]:
    """The axioms that have a curve over k: TFC2 in its variants, whatever their parameters."""
    known = [f"TFC2:{variant}" for variant in ("cumulative", "marginal", "restore")]
    found = dict.fromkeys(s.axiom for s in audit.summaries if ":".join(s.axiom.split(":")[:2]) in known)
    return sorted(found, key=lambda axiom: (known.index(":".join(axiom.split(":")[:2])), axiom))


def _report(audit: Audit, figures: Figures) -> Report:
    names = ", ".join(one.ranker for one in audit.scored)
    pairs = len(audit.pairs)
    report = Report(f"Does it behave? An audit of {names}", f"{pairs} minimal pairs; intervals over queries.")
    report.heading("Outcomes")
    report.figure(*figures["outcomes"])
    for one in audit.scored:
        left_out = sum(one.dropped.values())
        more = f"; {left_out} pairs do not fit its tokenizer or length" if left_out else ""
        report.paragraph(
            f"{one.ranker} ({one.source}): differences up to {one.delta:.4g} are neutral, 1% of the standard "
            f"deviation of its own scores unless set; {one.inputs} distinct inputs scored{more}."
        )
        for told in one.sentences():
            report.paragraph(f"{one.ranker}: {told}.")
        for told in one.texts().sentences(one.ranker):
            report.paragraph(f"{told[0].upper()}{told[1:]}; the texts that were scored are in rows.parquet.")
    report.heading("Numbers")
    _numbers(report, audit)
    if len(figures) > 1:
        report.heading("Term frequency over k (TFC2)")
        for name, figure in figures.items():
            if name != "outcomes":
                report.figure(*figure)
        _fits(report, audit)
    report.heading("Why violated?")
    _why(report, audit)
    report.heading("The worst violations")
    for summary in audit.summaries:
        _worst(report, audit, summary)
    report.heading("What was dropped")
    rows: list[list[Cell]] = [
        [axiom, reason, n] for axiom, reasons in audit.dropped.items() for reason, n in reasons.items()
    ]
    rows += [[f"pairs, by {one.ranker}", reason, n] for one in audit.scored for reason, n in one.dropped.items()]
    report.table(["of", "reason", "documents or pairs"], rows) if rows else report.paragraph("Nothing.")
    return report


def _numbers(report: Report, audit: Audit) -> None:
    columns = ["axiom", "ranker", "n", "queries", "holds", "violates", "neutral", "mean difference", "median", "p"]
    order = {axiom: i for i, axiom in enumerate(dict.fromkeys(s.axiom for s in audit.summaries))}
    rows: list[list[Cell]] = [
        [
            s.axiom, s.ranker, s.n, s.queries, _share(s, "holds"), _share(s, "violates"),
            f"{s.shares['neutral']:.1%}",
            estimate_text(s.mean, s.mean_interval, "+.4g"), f"{s.median:+.4g}", p_text(s.p_adjusted, s.queries),
        ]
        for s in sorted(audit.summaries, key=lambda s: order[s.axiom])
    ]  # fmt: skip
    told = (
        "Differences: perturbed - baseline, in score units; LNC1 prefers the baseline. In brackets 95% intervals. "
    )
    told += "p: Student's t of the queries' mean differences, Holm-corrected over the table."
    report.table(columns, rows, told)


def _fits(report: Report, audit: Audit) -> None:
    rows = [
        [s.axiom, s.ranker, what, fit.curve, f"{fit.a:+.4g}", f"{fit.b:+.4g}", f"{fit.r2:.3f}", f"{fit.aicc:.1f}"]
        for s in audit.summaries
        for what, fits in (("difference", s.fits), ("violation rate", s.violation_fits))
        for fit in fits
    ]
    report.table(
        ["axiom", "ranker", "of", "curve", "a", "b", "R2", "AICc"], rows, "y = a f(k) + b; the best fit first."
    )
    falling: list[list[Cell]] = [
        [s.axiom, s.ranker, estimate_text(s.flattens, s.flattens_interval, ".1%")]
        for s in audit.summaries
        if s.flattens_interval is not None
    ]
    if falling:
        told = "TFC2 itself: the share of steps from k to k + 1 in which the marginal gain falls."
        report.table(["axiom", "ranker", "falls"], falling, told)


def _why(report: Report, audit: Audit) -> None:
    rows: list[list[Cell]] = [
        [s.axiom, s.ranker, c.feature, c.violating, c.adhering, estimate_text(c.cliffs_delta, c.interval, "+.2f")]
        for s in audit.summaries
        for c in s.why
    ]
    if not rows:
        report.paragraph("Too few violations to compare them with the pairs that adhere.")
        return
    columns = ["axiom", "ranker", "feature", "violating (median)", "adhering (median)", "Cliff's delta"]
    told = (
        "Cliff's delta: +1 if every violating pair has more of it than every adhering one, -1 if less, 0 if even; "
    )
    told += "in brackets its 95% interval over queries. Position: 0 at the text's start, 1 at its end."
    report.table(columns, rows, told)


def _worst(report: Report, audit: Audit, summary: AxiomSummary) -> None:
    rows = audit.worst(summary.ranker, summary.axiom)
    if rows:
        items = "".join(_violation(audit, row) for row in rows)
        told = f"{summary.axiom}, {summary.ranker}: {len(rows)} of {round(summary.shares['violates'] * summary.n)}"
        report.html(f"<details><summary>{escape(told)}</summary><ol>{items}</ol></details>")


def _violation(audit: Audit, row: Row) -> str:
    pair = audit.scored_pair(row)
    sides = []
    for side, mark in (("baseline", "other"), ("perturbed", "")):
        spans = (pair.slot or {}).get(side) or []
        sides.append(f"<br><b>{side} {getattr(row, side):.3f}:</b> {_excerpt(getattr(pair, side), spans, mark)}")
    return f"<li>{escape(pair.query)} <small>({escape(row.pair)})</small>{''.join(sides)}</li>"


def _excerpt(text: str, spans: list[Span], mark: str) -> str:
    """The text around the change, the change marked."""
    start = max(0, (spans[0][0] if spans else 0) - AROUND)
    end = min(len(text), (spans[-1][1] if spans else 0) + AROUND, start + 6 * AROUND)
    shown, place = "…" if start else "", start
    for a, b in spans:
        a, b = min(a, end), min(b, end)
        shown += f'{escape(text[place:a])}<mark class="{mark}">{escape(text[a:b])}</mark>'
        place = b
    return shown + escape(text[place:end]) + ("…" if end < len(text) else "")


def _share(summary: AxiomSummary, outcome: str) -> str:
    return estimate_text(summary.shares[outcome], summary.intervals[outcome], ".1%")
