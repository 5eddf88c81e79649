"""The reports of an edit and of an alignment: what moves, what it costs, what is turned."""

from __future__ import annotations

from collections.abc import Sequence

from whyrank.edits.figures import moves, plot_alignment, plot_holders, turned_pieces
from whyrank.edits.holder_moves import HolderMoves, RankingCost
from whyrank.edits.intent import Proposal, SharerMoves
from whyrank.edits.results import Alignment, EditPreview, RankingChange, RankingEdit
from whyrank.pages.numbers import counted
from whyrank.pages.page import Cell, Figure, Figures, Report
from whyrank.plots.style import as_svg, drawing

#: Queries in the table of holders, those that go against the edit first.
LISTED = 20
COST_CAPTION = (
    "Changed: queries whose order changes. nDCG@10 is over the judged queries, agreement over all: the nDCG@10 "
    "of the edited ranking with gains from the unedited one, 10 for its first document to 1 for its tenth; it is "
    "1 if the first ten stay as they are. In brackets 95% intervals over queries; the difference is "
    "paired."
)
HOLDERS_CAPTION = (
    "the edit. Change: how much the mean score of the documents that hold the word changes, less that of the "
    "others. A document holds a word if the whole word is in its text."
)
HOLDERS_FIGURE = (
    "For each term one dot per query with documents of both kinds: how much the mean score of the documents that "
    "hold the term changes, less that of the others; green as the edit means it. Diamond: the mean and its 95% "
    "interval."
)


def preview_page(result: EditPreview) -> Report:
    """The page: the verdict, whether the holders moved as meant, the cost, what moves, what is turned."""
    page = _page(f"What would change? {result.ranker} on {result.collection}", str(result.edit), result)
    figures = preview_figures(result)
    if result.holders:
        page.heading("Did it do what was meant?")
        if "holders" in figures:
            page.figure(*figures["holders"])
        holders_table(page, result.holders)
    if result.sharers:
        _sharers(page, result.sharers)
    if result.new_tokens:
        page.heading("Tokens of their own")
        page.paragraph(str(result.new_tokens))
    if result.proposal:
        _proposal(page, result.proposal)
    if result.ranking:
        _ranking(page, result.ranking, figures)
    if result.encode_again is not None:
        page.paragraph(
            f"{counted(len(result.encode_again), 'document')} of the collection have to be encoded again."
        )
    page.heading("What is turned")
    page.figure(*figures["turns"])
    _turns(page, result)
    return _sign(page, result)


def alignment_page(result: Alignment) -> Report:
    """The page: the verdict, the correlation before and after, the cost, what moves."""
    page = _page(f"What would change? {result.ranker} on {result.collection}", str(result.alignment), result)
    figures = alignment_figures(result)
    page.heading("U0 and the collection's IDF")
    page.figure(*figures["alignment"])
    if result.ranking:
        _ranking(page, result.ranking, figures)
    return _sign(page, result)


def _page(title: str, what: str, result: RankingEdit) -> Report:
    ranking = result.ranking
    if ranking is None:
        return Report(title, f"{what}.", result.verdict())
    lead = (
        f"{what}. {counted(ranking.pairs, 'pair')} of {counted(ranking.cost.queries, 'query', 'queries')}; "
        f"{ranking.rescored} of them read a changed token and were scored again, the others cannot change."
    )
    return Report(title, lead, result.verdict())


def _sign(page: Report, result: RankingEdit) -> Report:
    page.heading("Where the sign comes from")
    page.paragraph(str(result.dial))
    return page


def preview_figures(result: EditPreview) -> Figures:
    """The holders, the documents that move, the pieces that are turned."""
    found: Figures = {}
    if any(one.by_query for one in result.holders):
        found["holders"] = _holders_figure(result.holders)
    found |= _moves_figure(result)
    turns: list[list[Cell]] = [[one.piece, ", ".join(one.terms), one.before, one.after] for one in result.turns]
    caption = (
        "U0 of the pieces that the edit turns, before and after; the band is the natural range, in which the "
        "middle 98% of whole words are."
    )
    found["turns"] = (
        turned_pieces(result.turns, result.dial.units),
        caption,
        (["piece", "terms", "before", "after"], turns),
    )
    return found


def alignment_figures(result: Alignment) -> Figures:
    """The correlation, and the documents that move."""
    fit = result.alignment
    with drawing(7.2, 1.6) as figure:
        plot_alignment(figure.subplots(), fit)
        svg = as_svg(figure)
    rows: list[list[Cell]] = [["before", fit.r_before], ["after", fit.r_after], ["by a new SVD", fit.r_by_new_svd]]
    caption = f"r of U0 with the IDF of {result.dial.idf} over {fit.words} words."
    return {"alignment": (svg, caption, (["U0", "r"], rows)), **_moves_figure(result)}


def _holders_figure(holders: Sequence[HolderMoves]) -> Figure:
    rows: list[list[Cell]] = [
        [f"{one.direction} {one.what}", query.query, query.change] for one in holders for query in one.by_query
    ]
    with drawing(7.2, 1.0 + 0.5 * len(holders)) as figure:
        plot_holders(figure.subplots(), holders)
        return as_svg(figure), HOLDERS_FIGURE, (["edit", "query", "change"], rows)


def _moves_figure(result: RankingEdit) -> Figures:
    if result.ranking is None or not result.ranking.changes:
        return {}
    rows: list[list[Cell]] = [
        [change.qid, one.docno, one.before, one.after, one.score_before, one.score_after]
        for change in result.ranking.changes
        for one in change.documents
    ]
    caption = "The queries that change most: the ranks of the documents that move, before and after the edit."
    data = (["query", "document", "before", "after", "score before", "score after"], rows)
    return {"moves": (moves(result.ranking.changes), caption, data)}


def holders_table(page: Report, holders: Sequence[HolderMoves]) -> None:
    """For each edited word the sentence, and query by query what it is made from."""
    for one in holders:
        page.paragraph(f"{one.sentence[:1].upper()}{one.sentence[1:]}.")
        listed = one.by_query[:LISTED]
        if listed:
            rows: list[list[Cell]] = [[row.query, row.holders, row.others, f"{row.change:+.4f}"] for row in listed]
            of = counted(one.change.queries, "query", "queries")
            shown = f"The {len(rows)} of {of} with documents of both kinds "
            columns = ["query", f"documents that hold {one.what}", "others", "change"]
            page.table(columns, rows, f"{shown}that go most against {HOLDERS_CAPTION}")


def cost_table(page: Report, costs: Sequence[tuple[str, RankingCost]], first: str = "") -> None:
    """One row per edit: nDCG before, after and their difference, agreement, and how many queries change."""
    columns = ["changed", "judged", "nDCG@10 before", "after", "difference", "agreement"]
    rows: list[list[Cell]] = [
        [
            *([name] if first else []), f"{cost.changed_queries} of {cost.queries}", cost.judged,
            *(one.text(".4f") if one else None for one in (cost.ndcg_before, cost.ndcg_after)),
            cost.difference.text("+.4f") if cost.difference else None, cost.agreement.text(".4f"),
        ]
        for name, cost in costs
    ]  # fmt: skip
    page.table([*([first] if first else []), *columns], rows, COST_CAPTION)


def _ranking(page: Report, ranking: RankingChange, figures: Figures) -> None:
    """What it costs, and what moves."""
    page.heading("What it costs")
    cost_table(page, [("", ranking.cost)])
    page.heading("What moves")
    if not ranking.changes:
        page.paragraph("No document changes its rank.")
        return
    page.figure(*figures["moves"])
    rows: list[list[Cell]] = [
        [
            change.query, f"{one.title} ({one.docno})", f"{one.before} → {one.after}",
            f"{one.score_before:.3f} → {one.score_after:.3f}", one.grade,
        ]
        for change in ranking.changes
        for one in change.documents
    ]  # fmt: skip
    caption = f"The {len(ranking.changes)} queries that change most of {ranking.cost.changed_queries} that do."
    page.table(["query", "document", "rank", "score", "grade"], rows, caption)


def _sharers(page: Report, sharers: Sequence[SharerMoves]) -> None:
    """Who else moves, by pieces of the words."""
    page.heading("Who else moves, by a shared piece")
    for one in sharers:
        page.paragraph(f"{str(one)[:1].upper()}{str(one)[1:]}.")
        if not one.examples:
            continue
        rows: list[list[Cell]] = [
            [
                move.query, move.title, move.snippet, ", ".join(move.words), f"{move.before} → {move.after}",
                f"{move.score_before:.3f} → {move.score_after:.3f}",
            ]
            for move in one.examples
        ]  # fmt: skip
        caption = f'Documents without "{one.term}" that moved most to the side to which it is turned.'
        page.table(["query", "title", "snippet", "words", "rank", "score"], rows, caption)


def _proposal(page: Report, proposal: Proposal) -> None:
    """The scales that were tried, and what the chosen one does on queries that did not choose it."""
    page.heading("Which scale?")
    page.paragraph(str(proposal))
    rows: list[list[Cell]] = [
        [
            f"{one.scale:g}{proposal.rule}", one.gain.text("+.3f"),
            None if one.loss is None else f"{one.loss:+.4f}", "yes" if one.allowed else "no",
        ]
        for one in proposal.tried
    ]  # fmt: skip
    caption = (
        "On the queries that choose: pairs of a document with the word and one without that change places as "
        "meant, less those that do the reverse, as a share of all such pairs; and what nDCG@10 loses."
    )
    page.table(["scale", "gain", "loss of nDCG@10", f"at most {proposal.max_loss:g}"], rows, caption)


def _turns(page: Report, result: EditPreview) -> None:
    shared, units = {(one.term, one.piece): one for one in result.shared}, result.dial.units
    rows: list[list[Cell]] = []
    for turn in result.turns:
        for term in turn.terms:
            one = shared.get((term, turn.piece))
            others = f"{one.words} in {counted(one.documents, 'document')}" if one else "none"
            examples = ", ".join(dict.fromkeys([one.word or "", *one.examples])).strip(", ") if one else ""
            moved = turn.after - turn.before
            by = f"{units.in_sd(moved):+.2f}sd = {units.in_idf(moved):+.2f}idf"
            rows.append([term, turn.piece, f"{turn.before:+.4f} → {turn.after:+.4f}", by, others, examples])
    page.table(["term", "piece", "U0", "up by", "other words with it", "such as"], rows)
