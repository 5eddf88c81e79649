"""The page of the study: what was found, the paper beside ours, tables, figures, opened models, trainings."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from whyrank.evaluation.estimate import percent
from whyrank.pages.findings import findings_table
from whyrank.pages.numbers import counted, span
from whyrank.pages.page import Cell, Report
from whyrank.papers.disentangled import opened_report as opened
from whyrank.papers.disentangled.paper import ORDERED, TITLES
from whyrank.papers.disentangled.results import About, Disentangled, TextsRead, TrainedVariant
from whyrank.papers.disentangled.tables_report import collection_table, effectiveness, length_table, verdicts

#: A model of passages where a document has only one.
ONE_PASSAGE = {
    "BERT-MaxP": "it differs from BERT only in where the passage ends",
    "PARADE": "it has nothing to combine",
}
NOTE = (
    "The paper's numbers are of Robust04 and WebTrack09-12, with its own backbone and 20 epochs: they are shown, "
    "and only which of two models is better is compared. A verdict is given where our difference is significant; "
    "where it is not, our data do not decide it, which is no evidence against the paper. Rows with one seed are "
    "one training: the tests are over queries, and do not cover what another seed would have given."
)
COLUMNS = (
    "model", "seeds", "folds", "chosen epochs", "untrained kept", "rank loss", "rate", "backbone rate", "tokens",
    "chunks",
)  # fmt: skip


def study_page(study: Disentangled) -> Report:
    about = study.about
    report = Report(f"DGRe and its baselines on {about.collection}", lead(about), study.verdict())
    report.heading("What was found")
    if about.quick:
        report.paragraph("These sizes are for a first look: intervals are wide, and hardly anything is learned.")
    if "means" in study.drawn:
        report.figure(*study.drawn["means"], name="means")
    for sentence in statement(study):
        report.paragraph(sentence)
    findings_table(
        report, study.findings,
        "Agrees, differs: the order of the two models is significant here, and is the paper's or the opposite; "
        "–: it is not significant, or there is nothing to test.",
    )  # fmt: skip
    report.paragraph(NOTE)
    _tables(report, study)
    _one_query(report, study)
    _opened(report, study)
    _trainings(report, study)
    return report


def lead(about: About) -> str:
    """On what, from what, how much."""
    folds, size = about.folds, about.sizes
    train, validation, test = (
        span([getattr(fold, part) for fold in folds]) for part in ("train", "validation", "test")
    )
    split = "a fixed test" if about.fixed_test else counted(len(folds), "fold")
    together = f", in all folds together {about.tested}" if len(folds) > 1 else ""
    return (
        f"Backbone {about.backbone}; {split}: {train} queries to learn from, {validation} to choose the epoch by "
        f"({about.select}), {test} to test on{together}; candidates: {about.first_stage}; "
        f"{counted(size.chunks, 'sequence')} of {size.max_length} tokens per document; "
        f"{counted(size.epochs, 'epoch')}; {counted(size.seeds, 'seed')} of BERT and DGRe, {size.other_seeds} of "
        "the others."
    )


def unfinished(study: Disentangled) -> list[str]:
    """One sentence while trainings are still to be done."""
    if not study.to_do:
        return []
    every = len(study.trainings) + len(study.lacking) + len(study.to_do)
    return [
        f"Not finished: {len(study.to_do)} of {every} models and variants are still to be trained; their rows are "
        "lacking. With them the corrected p-values below will change."
    ]


def dgre_against_bert(study: Disentangled) -> list[str]:
    """The paper's main comparison, where Table 2 has both."""
    rows = study.tables["table2"].differences if "table2" in study.tables else ()
    return [
        f"DGRe less BERT, {row.text()}, on {counted(row.comparison.difference.queries, 'query', 'queries')}."
        for row in rows
        if (row.of, row.against, row.measure) == ("DGRe", "BERT", ORDERED)
    ]


def statement(study: Disentangled) -> list[str]:
    """What is significant, what is not, and what to keep in mind."""
    about, found = study.about, unfinished(study)
    for part, table in study.tested_tables.items():
        found += verdicts(part, table.differences)
    found += [f"{name} could not be trained, its rows are lacking: {why}." for name, why in study.lacking.items()]
    if study.audits:
        found += opened.audit_verdict(study.audits.axioms)
    if about.sizes.depth <= 20 and "P@20" in about.measures:
        found.append(f"P@20 is the same for all models: a query has {about.sizes.depth} candidates.")
    found += rank_losses(study.trainings)
    found += [f"{name} reads one passage per document here: {ONE_PASSAGE[name]}." for name in study.one_passage]
    if study.cut_queries:
        found.append(
            f"{study.cut_queries} of the {about.tested} test queries are longer than half a sequence: "
            "transformers read their beginning, the first stage and models on words all of them. These are among "
            "the long queries of Table 6."
        )
    return found + _untrained(study.trainings)


def _untrained(trainings: Sequence[TrainedVariant]) -> list[str]:
    untrained = sum(one.untrained for one in trainings)
    every = sum(len(one.chosen) for one in trainings)
    return [
        f"In {untrained} of {every} trainings no epoch did better on the validation queries than the untrained "
        "model, which was then tested."
    ] * bool(untrained)


def _tables(report: Report, study: Disentangled) -> None:
    if study.table1:
        report.heading("Table 1: the collection")
        collection_table(report, study, study.table1)
    for part in study.tables:
        report.heading(TITLES[part])
        effectiveness(report, study, part)
    if "table6" in study.about.parts:
        report.heading(TITLES["table6"])
        length_table(report, study.table6, study.about.measures)


def _one_query(report: Report, study: Disentangled) -> None:
    shown = study.one_query
    _section(report, study, "figures", "Figures 6 to 8: one query", shown is not None)
    if shown:
        for name in ("word-graphs", "t-sne"):
            if name in study.drawn:
                report.figure(*study.drawn[name], name=name)
        opened.t_sne_table(report, shown)


def _opened(report: Report, study: Disentangled) -> None:
    """What each analysis of the opened models found."""
    _section(report, study, "audits", "Opened: which axioms improve", study.audits is not None)
    if study.audits:
        report.figure(*study.drawn["axioms"], name="axioms")
        opened.audits(report, study.audits)
    _section(report, study, "heads", "Opened: heads before and after training", study.heads is not None)
    if study.heads:
        report.figure(*study.drawn["heads"], name="heads")
        opened.heads(report, study.heads)
    _section(report, study, "attention", "Opened: attention on spurious relations", study.attention is not None)
    if study.attention:
        report.figure(*study.drawn["attention"], name="attention")
        opened.attention(report, study.attention)


def _section(report: Report, study: Disentangled, part: str, title: str, done: bool) -> None:
    """Begins the section of a part that is done, or could not be, and then says why."""
    if done or part in study.not_done:
        report.heading(title)
    if part in study.not_done:
        report.paragraph(f"This could not be done: {study.not_done[part]}")


def _trainings(report: Report, study: Disentangled) -> None:
    """Links to all of them, their settings, and what is read."""
    about, size = study.about, study.about.sizes
    own = ", ".join(f"{name}={value}" for name, value in about.settings.items())
    report.heading("The trainings")
    report.paragraph(
        f"{len(study.trainings)} models and variants, each with its own report, losses and validation over the "
        f"epochs. New weights of DRMM and Conv-KNRM learn at {size.word_rate:g}: they are few, and hardly move at "
        "a transformer's rate; Conv-KNRM's word vectors are pre-trained, and learn on at the backbone "
        f"rate. {f'Set by hand: {own}. ' if own else ''}At most {size.positives or 'all'} relevant documents per "
        "query are learned from in an epoch."
    )
    for sentence in rank_losses(study.trainings):
        report.paragraph(sentence)
    report.paragraph(about.judgements.text())
    if about.not_found:
        report.paragraph(
            f"{counted(about.not_found, 'judged query has', 'judged queries have')} no candidates: counted as 0."
        )
    items = "".join(f'<li><a href="{escape(one.report)}">{escape(one.title)}</a></li>' for one in study.trainings)
    report.html(f"<ul>{items}</ul>")
    caption = "The epoch that validation chose in each training (0 is before training), and the settings."
    report.table(list(COLUMNS), [_row(one) for one in study.trainings], caption)
    if study.reading:
        _texts_read(report, study.reading)


def rank_losses(trainings: Sequence[TrainedVariant]) -> list[str]:
    """Which models learn from a hinge on sigmoids, which from one on scores, where they differ."""
    groups: dict[str, list[str]] = {}
    for one in (one for one in trainings if one.name == one.model):
        groups.setdefault(one.rank_loss, []).append(one.title)
    if len(groups) < 2:
        return []
    listed = "; ".join(f"{loss}: {', '.join(names)}" for loss, names in groups.items())
    return [
        "The rank loss is a hinge on the scores themselves (raw) or on their sigmoids (sigmoid), as each paper "
        f"has it ({listed}): a difference between models of the two groups may be due to the loss. The "
        "setting rank_loss=raw (or sigmoid) sets it for all."
    ]


def _texts_read(report: Report, reading: TextsRead) -> None:
    """Document tokens by model, as measured."""
    report.paragraph(
        f"Measured on {counted(reading.pairs, 'candidate')}: a query has {reading.query_tokens:.1f} tokens, a "
        f"word {reading.pieces_per_word:.2f} pieces, a document {reading.document_tokens:.1f} tokens."
    )
    rows: list[list[Cell]] = [
        [one.model, f"{one.sequences:.1f}", f"{one.tokens:.1f}", f"{one.with_repeats:.1f}", percent(one.share, 1)]
        for one in reading.models
    ]
    columns = ["model", "sequences", "document tokens read", "with those read twice", "share of a document"]
    report.table(columns, rows, "What each model reads of a document, means over those candidates.")


def _row(one: TrainedVariant) -> list[Cell]:
    return [
        one.title, len(one.seeds), one.folds, " ".join(map(str, one.chosen)), one.untrained, one.rank_loss,
        f"{one.rate:g}", f"{one.backbone_rate:g}", one.tokens, one.chunks,
    ]  # fmt: skip
