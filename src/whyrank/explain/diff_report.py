"""The page of two rankings compared."""

from __future__ import annotations

from whyrank.evaluation.estimate import percent
from whyrank.explain.diff import Move, QueryDiff, RunDiff, rank_text
from whyrank.pages.page import Cell, Data, Report
from whyrank.plots.style import as_svg, drawing

#: Words named behind a move.
NAMED = 4


def diff_page(found: RunDiff) -> Report:
    """The verdict and its figure, then the queries that changed most with their moves."""
    page = Report(f"What changed from {found.before} to {found.after}?", _lead(found), found.verdict())
    if found.rows:
        page.heading("The queries that changed most")
        with drawing(7.2, 0.9 + 0.3 * min(20, len(found.rows))) as figure:
            found.plot(figure.subplots())
            columns = ["query", "overlap", "before", "after"]
            data: Data = (columns, [[row.query, row.overlap, row.before, row.after] for row in found.rows])
            page.figure(as_svg(figure), _caption(found), data, "queries")
    for row in found.rows:
        _query(page, row)
    return page


def _lead(found: RunDiff) -> str:
    alone = [
        f"{count} only in the run {name}"
        for name, count in (("before", found.only_before), ("after", found.only_after))
        if count
    ]
    return "; ".join([f"{found.queries} queries of both runs", *alone]) + "."


def _caption(found: RunDiff) -> str:
    if found.measure is None:
        return "Rank-biased overlap of both rankings: 1 where they are the same."
    return f"What each query gained or lost in {found.measure}."


def _query(page: Report, row: QueryDiff) -> None:
    page.heading(row.query)
    rows: list[list[Cell]] = [
        [move.docid, rank_text(move.before), rank_text(move.after), move.grade, _words(move)] for move in row.moves
    ]
    page.table(["document", "rank before", "rank after", "grade", "words behind it (before, after)"], rows)


def _words(move: Move) -> str:
    """The words whose part changed most, as shares of each ranker's largest effect."""
    named = (f"{one.word} ({percent(one.before)}, {percent(one.after)})" for one in move.words[:NAMED])
    return ", ".join(named) or "–"
