"""The report of `semantic_bm`: all models, the paper's numbers, the coefficients."""

from __future__ import annotations

from whyrank.circuits.semantic_bm.figures import semantic_bm_figures
from whyrank.circuits.semantic_bm.paper import paper_section
from whyrank.circuits.semantic_bm.pooled_report import pooled_section
from whyrank.circuits.semantic_bm.results import SemanticBM, SharedAlpha
from whyrank.circuits.semantic_bm.tables import NAMES, models_table, spread_text, text_of
from whyrank.pages.numbers import counted
from whyrank.pages.page import Cell, Report


def semantic_bm_page(result: SemanticBM) -> Report:
    """The page: the verdict, all models as bars, then the numbers."""
    ranker = result.ranker.name
    page = Report(
        f"SemanticBM: {ranker} as {counted(len(result.heads), 'matching head')} and an IDF dimension",
        f"{counted(result.samples, 'pair')} of {counted(result.queries, 'query', 'queries')} of "
        f"{result.collection} ({result.first_stage}); the target is the cross-encoder's own score.",
        result.verdict(),
    )
    figures = semantic_bm_figures(result)
    page.heading("How much of the score is it?")
    rows: list[list[Cell]] = [
        [NAMES[one.name], one.pearson.value, one.pearson.low, one.pearson.high, one.pearson.pairs]
        for one in result.default.models
    ]
    page.figure(
        figures["models"], "Pearson with the cross-encoder's score on the test part, with 95% intervals.",
        (["model", "r", "low", "high", "pairs"], rows), "models",
    )  # fmt: skip
    _in_short(page, result)
    if "predicted" in figures:
        test = result.test_part()[["qid", "docno", "cross_encoder", "semantic_bm"]]
        caption = f"SemanticBM against {ranker}, the {counted(len(test), 'pair')} of the test part; dotted: equal."
        data = (["qid", "docno", "cross-encoder", "SemanticBM"], test.to_numpy(dtype=object).tolist())
        page.figure(figures["predicted"], caption, data, "predicted")
    models_table(page, result.default, "Coefficients shared over positions, split by query")
    pooled_section(page, result)
    page.heading("The paper's protocol")
    paper_section(page, result.default, result.paper)
    _choices(page, result)
    page.heading("Coefficients")
    _coefficients(page, result, figures["coefficients"])
    page.heading("One score, term by term")
    _example(page, result)
    return page


def _in_short(page: Report, result: SemanticBM) -> None:
    default = result.default
    (group,), own = default.groups, default.models[0]
    sep = "counts" if default.sep else "does not count"
    page.paragraph(
        f"Fitted on {counted(group.train, 'pair')} of {counted(group.train_queries, 'query', 'queries')}, tested "
        f"on {counted(group.test, 'pair')} of {group.test_queries} others: Pearson {text_of(own.pearson)}, mean "
        f"Spearman per query {text_of(own.spearman)}. Attention to the final [SEP] {sep} as matching."
    )
    drawn = default.random_heads
    if drawn and drawn.pearson:
        page.paragraph(
            f"The same model with other heads, {counted(len(drawn.draws), 'random draw')} of "
            f"{len(drawn.draws[0].heads)} outside the circuit: Pearson {spread_text(drawn.pearson)}; "
            f"{drawn.as_good} of them do at least as well as SemanticBM."
        )
    page.paragraph(
        f"U0 against IDF (of {result.u0.idf}), {counted(result.u0.r.pairs, 'whole word')}: r = "
        f"{text_of(result.u0.r)}. Its sign is chosen by that and changes how coefficients read, not what is "
        "predicted."
    )
    if result.cut:
        page.paragraph(f"{counted(result.cut, 'pair')} longer than the model reads: cut.")


def _choices(page: Report, result: SemanticBM) -> None:
    rows: list[list[Cell]] = [
        [
            "each" if one.by_position else "shared", one.split, "counted" if one.sep else "not counted",
            text_of(one.pearson), one.pearson.pairs if one.pearson else None,
        ]
        for one in result.choices
    ]  # fmt: skip
    caption = "What each choice of the protocols does to SemanticBM's Pearson on its test part."
    page.table(["positions", "split by", "final [SEP]", "Pearson", "test pairs"], rows, caption)


def _coefficients(page: Report, result: SemanticBM, svg: str) -> None:
    model = result.model
    columns = ["feature", "standardised", "low", "high", "slope", "mean", "deviation"]
    data: list[list[Cell]] = [
        [one.feature, one.standardised.value, one.standardised.low, one.standardised.high, one.slope, one.mean,
         one.deviation]
        for one in model.coefficients
    ]  # fmt: skip
    page.figure(
        svg,
        "Standardised coefficients (points of the score for one deviation of the column), with 95% intervals from "
        "redrawing the training queries. Heads that look alike share what they explain, so one coefficient alone "
        "says little.",
        (columns, data),
        "coefficients",
    )
    rows: list[list[Cell]] = [
        [one.feature, one.standardised.text("+.3f"), one.slope, one.mean, one.deviation]
        for one in model.coefficients
    ]
    caption = f"Intercept {model.intercept:.4g}; rank {model.rank} of {counted(len(rows), 'column')}."
    page.table(["feature", "standardised", "slope", "mean", "deviation"], rows, caption)
    if result.shared_alpha:
        _shared_alpha(page, result.shared_alpha)


def _shared_alpha(page: Report, found: SharedAlpha) -> None:
    page.paragraph(
        f"Eq. 2 of the paper: score = {found.intercept:.4g} + {found.u0:.4g} F + the sum over heads of alpha "
        f"({found.match:.4g} X + {found.interaction:.4g} Z), with F the sum over query tokens of f, X of what a "
        f"head reads, Z of f times that. Mean squared error of the training part {found.error:.4g}, with all "
        f"slopes free {found.free_error:.4g}."
    )
    rows: list[list[Cell]] = [[head, alpha] for head, alpha in found.alphas.items()]
    page.table(["head", "alpha"], rows, "The alphas of Eq. 2.")


def _example(page: Report, result: SemanticBM) -> None:
    example, found = result.example, result.example.explanation
    page.paragraph(
        f"Query “{found.query}” ({example.qid}), document {example.docno}: SemanticBM {found.score:+.3f}, "
        f"{result.ranker.name} {example.cross_encoder:+.3f}. The intercept {found.intercept:+.3f} and the column "
        "'adds' sum to the first."
    )
    rows: list[list[Cell]] = [
        [f"“{term.token}”", *(f"{value:+.3f}" for value in (term.total, term.idf, *term.by_head))]
        for term in found.terms
    ]
    page.table(["token", "adds", "by its IDF", *found.heads], rows)
