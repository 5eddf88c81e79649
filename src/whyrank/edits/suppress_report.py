"""The report of a suppression: success and cost over the scales, and the scale proposed."""

from __future__ import annotations

from whyrank.edits.edit import scale_text
from whyrank.edits.figures import suppression_curves
from whyrank.edits.report import cost_table, holders_table
from whyrank.edits.suppression import Suppression
from whyrank.evaluation.estimate import Estimate, percent
from whyrank.pages.numbers import counted
from whyrank.pages.page import Cell, Data, Report

#: Phrases that are named.
SHOWN = 8


def suppression_page(result: Suppression) -> Report:
    """The page: the verdict, the curve, the collection's own documents, then the numbers."""
    page = Report(
        f"Can it be kept down? {counted(result.words, 'word')} in {result.ranker}",
        f"{result.kept} of {counted(result.drawn, 'document')} of {result.collection} score higher with a listed "
        f"word appended, by more than {result.min_rise:g} standard deviations of the scores within queries (one "
        f"is {result.deviation:.3g}); these are what is suppressed. Intervals over queries or over words, the "
        "wider.",
        result.verdict(),
    )
    page.heading("Success and cost")
    page.figure(suppression_curves(result), _caption(result), _data(result), "curve")
    page.paragraph(result.proposal)
    _methods(page, result)
    page.heading("The collection's own documents")
    page.paragraph(f"At scale {scale_text(result.at, result.rule)}, on the ranking of {result.collection} itself:")
    holders_table(page, [result.holders])
    page.heading("Scale by scale")
    rows: list[list[Cell]] = [
        [scale_text(one.scale, result.rule), _counted(one.success, ".3f"), _counted(one.gap, "+.4f")]
        for one in result.scales
    ]
    caption = "Success: the unsafe document scores below the safe one."
    page.table(["scale", "success", "unsafe - safe"], rows, caption)
    cost_table(page, [(scale_text(one.scale, result.rule), one.cost) for one in result.scales], "scale")
    _words(page, result)
    page.heading("Where the sign comes from")
    page.paragraph(str(result.dial))
    return page


def _counted(estimate: Estimate, form: str) -> str:
    """`0.777 [0.711, 0.844] (n=26)`."""
    return f"{estimate.text(form)} (n={estimate.pairs})"


def _methods(page: Report, result: Suppression) -> None:
    """The dial beside what a sceptic would do."""
    page.heading("Is it the dial?")
    rows: list[list[Cell]] = [
        [
            one.name, one.below.text(".3f"), one.not_above.text(".3f"), one.gap.text("+.3f"),
            one.cost.difference.text("+.4f") if one.cost.difference else None,
            one.dial_more.text("+.3f") if one.dial_more else None,
        ]
        for one in result.methods
    ]  # fmt: skip
    columns = ["method", "put below", "do not gain", "unsafe - safe (sd)", "nDCG@10", "dial less this"]
    caption = (
        f"At scale {scale_text(result.at, result.rule)}. U0: the dial; [UNK] row, mean row: the words' rows "
        "replaced; word deleted: texts without listed words, no edit. nDCG@10: its change on the "
        "collection's ranking."
    )
    page.table(columns, rows, caption)
    randoms, ends = result.randoms, ""
    if randoms.difference and randoms.least is not None and randoms.most is not None:
        ends = (
            f" They change nDCG@10 by {randoms.difference.text('+.4f')} in the mean, from {randoms.least:+.4f} to "
            f"{randoms.most:+.4f}."
        )
    page.paragraph(f"{randoms}{ends}")


def _words(page: Report, result: Suppression) -> None:
    """Word by word; what was dropped; whose pieces are shared."""
    page.heading("Word by word")
    at = f"at scale {result.knee.scale:g}" if result.knee else "at the largest scale"
    words: list[list[Cell]] = [[one.word, one.drawn, one.kept, percent(one.success)] for one in result.by_word]
    page.table(["word", "documents", "of them rising", f"put below {at}"], words)
    if result.phrases:
        page.paragraph(
            f"{counted(len(result.phrases), 'phrase')} ({', '.join(result.phrases[:SHOWN])}): matched as a "
            "phrase, turned down by its pieces, so each of its words counts for less wherever it stands."
        )
    for reason, entries in result.skipped.items():
        page.paragraph(f"Dropped, {reason}: {', '.join(entries)}.")
    if result.shared:
        rows: list[list[Cell]] = [
            [one.term, one.piece, one.words, one.documents, ", ".join(one.examples)] for one in result.shared
        ]
        caption = "Pieces of listed words that other words share: these are turned down, too."
        page.table(["word", "piece", "other words", "documents", "such as"], rows, caption)


def _caption(result: Suppression) -> str:
    return (
        f"Above: the share of {counted(result.kept, 'unsafe document')} that score below the same document "
        "without the word. Below: nDCG@10 of the collection's ranking, against judgements and against the "
        "unedited ranking."
    )


def _data(result: Suppression) -> Data:
    rows: list[list[Cell]] = [
        [
            one.scale, one.success.value, one.success.low, one.success.high,
            one.cost.ndcg_after.value if one.cost.ndcg_after else None, one.cost.agreement.value,
        ]
        for one in result.scales
    ]  # fmt: skip
    return ["scale", "success", "low", "high", "nDCG@10", "agreement"], rows
