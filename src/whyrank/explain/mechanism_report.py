"""The sections of a page that open the ranker: its own account, the words of both texts together, the heads."""

from __future__ import annotations

from whyrank.evaluation.estimate import percent
from whyrank.explain.account import Heads, Mechanism, MechanismPart, WordMatrix
from whyrank.explain.model_idf import MODEL_IDF
from whyrank.pages.page import Cell, Report
from whyrank.plots.heat_map import heat_maps


def add_mechanism(page: Report, title: str, how: Mechanism) -> None:
    """The table of its parts, and the matrix of words where there is one."""
    page.heading(title)
    page.paragraph(f"{how.family}. {how.note}")
    named = [name for name in (how.weight, how.match) if name]
    columns = ["query", "document", *named, "adds"]
    rows: list[list[Cell]] = []
    for one in how.parts:
        values = [
            written(name, value)
            for name, value in zip((how.weight, how.match), (one.weight, one.match), strict=True)
            if name
        ]
        rows.append([one.query, one.document, *values, f"{one.contribution:+.3f}"])
    if how.exact and abs(how.rest) > 1e-6:
        rows.append(["the rest", None, *[None] * len(named), f"{how.rest:+.3f}"])
    page.table(columns, rows)
    if how.matrix is not None:
        _matrix(page, how.matrix)


def columns_of(how: Mechanism, one: MechanismPart) -> list[tuple[str, float | None]]:
    """The columns that this account has, by name."""
    both = ((how.weight, one.weight), (how.match, one.match))
    return [(name, value) for name, value in both if name is not None]


def _matrix(page: Report, matrix: WordMatrix) -> None:
    """What each word of the query does with each word of the document."""
    cells = {
        (i, j): value for i, row in enumerate(matrix.values) for j, value in enumerate(row) if value is not None
    }
    svg = heat_maps(
        {"": cells}, matrix.query, matrix.document, row_title="query", column_title="document",
        value_title="joint effect",
    )  # fmt: skip
    rows: list[list[str | float | int | None]] = [
        [matrix.query[i], matrix.document[j], value] for (i, j), value in cells.items()
    ]
    caption = "What a word of the query and one of the document do together, beyond what each does by itself."
    page.figure(svg, caption, (["query", "document", "joint effect"], rows), "word-pairs")


def add_heads(page: Report, found: Heads) -> None:
    """The heads that carry the leading word."""
    page.heading(f"The heads behind '{found.word}'")
    page.paragraph(
        f"The score is {found.score:.2f} with '{found.word}' and {found.without:.2f} with fillers in its place. "
        "A head's share is what returns of that difference when its output alone comes from the document with "
        "the word; 'straight' is its path to the score past all other heads. Shares do not sum to 100%. "
        f"{found.patched} of {found.total} heads were patched, those that a gradient estimate puts first."
    )
    rows: list[list[Cell]] = [[one.head, percent(one.share), percent(one.to_score)] for one in found.heads]
    rows += [[f"{one.name} ({len(one.heads)}) together", percent(one.share), None] for one in found.groups]
    page.table(["head", "share", "straight to the score"], rows)


def written(name: str, value: float | None) -> str | None:
    """A value of the column of this name."""
    if value is None:
        return None
    return percent(value) if name == MODEL_IDF else f"{value:.3g}"
