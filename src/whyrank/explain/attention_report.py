"""The page of a head's attention on one pair."""

from __future__ import annotations

from whyrank.explain.attention import Attention
from whyrank.pages.numbers import counted
from whyrank.pages.page import Cell, Data, Report
from whyrank.plots.style import as_svg, drawing

#: Links in the table.
LINKS = 20


def attention_page(found: Attention) -> Report:
    """The verdict, the map, the strongest links between words."""
    where = found.docid or "the document"
    page = Report(
        f"Where does {found.head} of {found.ranker} look?",
        f"Query: {found.query}. Document: {where}.",
        found.verdict(),
    )
    page.heading("The pattern")
    with drawing(6.2, 1.6 + 0.2 * min(36, len(found.tokens))) as figure:
        found.plot(figure.subplots())
        frame = found.to_pandas()
        data: Data = (list(frame.columns), frame.to_numpy().tolist())
        page.figure(as_svg(figure), "Each row says how much a token reads of each token.", data, "attention")
    if found.cut:
        page.paragraph(
            f"{counted(found.cut, 'token')} did not fit and {'was' if found.cut == 1 else 'were'} not read."
        )
    page.heading("The strongest links between words")
    rows: list[list[Cell]] = [[reader, read, f"{weight:.3f}"] for reader, read, weight in found.strongest(LINKS)]
    page.table(["token", "reads", "attention"], rows)
    return page
