"""The page of what a score means, and its tables."""

from __future__ import annotations

from whyrank.evaluation.calibration import Bin
from whyrank.evaluation.estimate import percent
from whyrank.explain.calibration import Calibration, CutOff
from whyrank.explain.calibration_figures import plot_reliability, plot_scores
from whyrank.pages.page import Cell, Report
from whyrank.pages.terms import Term
from whyrank.plots.style import svg_of

#: Scores of the table, evenly spaced from the lowest to the highest.
SHOWN = 11
TERMS = (
    Term("Brier score", "The mean of (relevant - probability)^2, relevant being 0 or 1: 0 is best."),
    Term("skill", "1 - Brier score / Brier score of always saying the share of relevant documents: 1 is best, 0 "
         "says nothing."),
    Term("held-out", "Of queries that the fit, or the choice of the cut-off, did not see."),
    Term("isotonic", "The non-decreasing function of the score that fits best by least squares."),
    Term("AUC", "The probability that a relevant document scores higher than one that is not."),
)  # fmt: skip


def calibration_page(found: Calibration) -> Report:
    """The verdict, the share of relevant documents by score, the cut-off, how right the probabilities are."""
    lead = f"{found.run}: scores as probabilities of a grade of {found.sample.min_grade} or more."
    page = Report("What does a score mean?", lead, found.verdict(), TERMS)
    page.heading("Scores and relevance")
    columns = ["score", "relevant", "low", "high", "documents"]
    caption = "Share of relevant documents by score, with intervals over queries, and the isotonic fit."
    page.figure(
        svg_of(lambda axes: plot_scores(found, axes), 3.4), caption, (columns, _data(found.by_score)), "scores"
    )
    page.table(["score", "probability", "expected grade"], meanings(found))
    if found.cut_off is not None:
        page.heading(f"A cut-off for a precision of {percent(found.cut_off.wanted)}")
        page.table(["", "value"], cut_rows(found.cut_off), _cut_caption(found.cut_off))
    page.heading("How right are the probabilities?")
    columns = ["probability", *columns[1:]]
    caption = "Held-out probabilities and the share that is relevant; right ones lie on the diagonal."
    drawing = svg_of(lambda axes: plot_reliability(found, axes), 3.4)
    page.figure(drawing, caption, (columns, _data(found.by_probability)), "reliability")
    page.table(["held-out", "value"], quality(found))
    return page


def _data(bins: tuple[Bin, ...]) -> list[list[Cell]]:
    return [[one.mean, one.share.value, one.share.low, one.share.high, one.share.pairs] for one in bins]


def meanings(found: Calibration, shown: int = SHOWN) -> list[list[Cell]]:
    """Scores from the highest to the lowest, and what each means."""
    low, high = found.knots[0].score, found.knots[-1].score
    scores = [high - (high - low) * i / (shown - 1) for i in range(shown)] if high > low else [high]
    return [[f"{one:.4g}", percent(found.probability(one)), f"{found.grade(one):.2f}"] for one in scores]


def cut_rows(cut: CutOff) -> list[list[Cell]]:
    return [
        ["score, or more", "none reaches it" if cut.score is None else f"{cut.score:.4g}"],
        ["precision, held-out", cut.precision.percent()],
        ["recall of the run's relevant documents, held-out", cut.recall.percent()],
        ["judged documents that pass, held-out", cut.documents],
        ["queries they are of", cut.queries],
        ["rows of the run that pass", cut.passing],
        ["of these unjudged", cut.unjudged],
    ]


def _cut_caption(cut: CutOff) -> str:
    said = "Chosen on all queries; measured with cut-offs that were chosen on other queries."
    return said if cut.in_every_fold else f"{said} In some folds no cut-off reaches it, and no document passes."


def quality(found: Calibration) -> list[list[Cell]]:
    """How good the probabilities are, on queries that the fit did not see."""
    one = found.separation
    grades = found.grades_explained
    return [
        ["skill", found.skill.text(".2f")],
        ["Brier score", found.brier.text(".3f")],
        ["R2 of grades", "–" if grades is None else grades.text(".2f")],
        ["calibration error, ten bins", f"{found.error:.3f}"],
        ["the same, by chance alone", f"{found.error_by_chance:.3f}"],
        ["AUC across queries", "–" if one.pooled is None else f"{one.pooled:.3f}"],
        ["AUC within a query, mean", "–" if one.within is None else f"{one.within:.3f}"],
        ["within - across", one.lost.text("+.3f")],
    ]
