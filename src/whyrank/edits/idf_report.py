"""The report of how a ranker's singular vectors go with IDF."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from whyrank.edits.idf import IdfDirection, Word
from whyrank.pages.page import Cell, Data, Figures, Report
from whyrank.plots.bars import interval_bars
from whyrank.plots.style import INK, SERIES, as_svg, bare, drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Dots a figure has at most; steps of IDF whose mean is drawn, and words that one needs for that.
MOST_DOTS, GROUPS, ENOUGH = 6000, 20, 10
FORMULAS_IN_WORDS = {
    "bm25": "ln((N - df + 0.5) / (df + 0.5) + 1)",
    "plain": "ln(N / df)",
    "given": "as given",
}


def idf_page(result: IdfDirection) -> Report:
    """The page: the verdict, U_0 against IDF, then all vectors."""
    page = Report(
        f"Where is IDF? The embeddings of {result.ranker}",
        f"{result.rows} x {result.width} input embeddings; {len(result.words)} whole words have an IDF.",
        result.verdict(),
    )
    figures = idf_figures(result)
    page.heading("U0 and IDF")
    page.figure(*figures["scatter"])
    page.heading("The first singular vectors")
    page.figure(*figures["vectors"])
    rows: list[list[Cell]] = [
        [f"U{one.vector}", one.formula, one.singular_value, one.r.text("+.4f"), one.r.pairs]
        for one in result.correlations
    ]
    names = dict.fromkeys(one.formula for one in result.correlations)
    formulas = "; ".join(f"{name}: {FORMULAS_IN_WORDS[name]}" for name in names)
    caption = (
        f"Pearson's r over whole words, with Fisher's 95% interval; signs fixed so that r is negative. {formulas}."
    )
    page.table(["vector", "formula", "singular value", "r", "words"], rows, caption)
    return page


def idf_figures(result: IdfDirection) -> Figures:
    """U_0 against IDF, and r of each vector."""
    first, words = result.correlations[0], result.words
    caption = f"U0 against IDF ({FORMULAS_IN_WORDS[first.formula]}), {len(words)} whole words: "
    caption += f"r = {first.r.text('+.4f')}. The line: means in steps of IDF."
    with drawing(7.2, 4.6) as figure:
        figure.set_dpi(200)
        plot_words(figure.subplots(), words)
        found: Figures = {"scatter": (as_svg(figure), caption, (["word", "IDF", "U0"], words))}
    mine = [one for one in result.correlations if one.formula == first.formula and one.r.value is not None]
    rows: list[list[Cell]] = [[one.vector, one.r.value, one.r.low, one.r.high, one.r.pairs] for one in mine]
    data: Data = (["vector", "r", "low", "high", "n"], rows)
    ends = [(one.r.interval.low, one.r.interval.high) for one in mine]
    bars = interval_bars(
        [f"U{one.vector}" for one in mine], [one.r.value or 0.0 for one in mine], ends, "r with IDF"
    )
    found["vectors"] = (bars, "Correlation of each of the first singular vectors with IDF.", data)
    return found


def plot_words(axes: Axes, words: Sequence[Word]) -> Axes:
    """One dot per word (every n-th of many), some named, and the mean of U_0 in steps of IDF."""
    order = sorted(words, key=lambda word: word[1])
    dots = order[:: max(1, -(-len(order) // MOST_DOTS))]
    bare(axes).plot(
        [idf for _, idf, _ in dots], [u for _, _, u in dots], ".", markersize=3.5, alpha=0.4, color=SERIES[0],
        markeredgewidth=0, rasterized=True,
    )  # fmt: skip
    middles = _means(order)
    axes.plot([x for x, _ in middles], [y for _, y in middles], color=SERIES[1], linewidth=2)
    for word, idf, u in _named(order):
        axes.plot(idf, u, "o", color=INK, markersize=2.5)
        axes.annotate(
            word, (idf, u), fontsize=7, xytext=(4, 4), textcoords="offset points", color=INK,
            bbox={"facecolor": "white", "alpha": 0.75, "pad": 0.8, "linewidth": 0},
        )  # fmt: skip
    axes.set_xlabel("IDF")
    axes.set_ylabel("U0")
    return axes


def _means(order: Sequence[Word]) -> list[tuple[float, float]]:
    """Mean IDF and U_0 in equal steps of IDF that hold enough words: words of one IDF stay together."""
    low, high = order[0][1], order[-1][1]
    steps: dict[int, list[Word]] = {}
    for word in order:
        steps.setdefault(int(GROUPS * (word[1] - low) / ((high - low) or 1.0)), []).append(word)
    enough = [some for some in steps.values() if len(some) >= ENOUGH]
    return [(sum(w[1] for w in some) / len(some), sum(w[2] for w in some) / len(some)) for some in enough]


def _named(order: Sequence[Word], count: int = 12) -> list[Word]:
    """Words spread over the range of IDF: the one of each part whose U_0 is its part's median."""
    low, high = order[0][1], order[-1][1]
    found = []
    for part in range(count):
        edges = [low + (high - low) * (part + more) / count for more in (0, 1)]
        mine = sorted((w for w in order if edges[0] <= w[1] <= edges[1] and len(w[0]) > 1), key=lambda w: w[2])
        if mine:
            found.append(mine[len(mine) // 2])
    return list(dict.fromkeys(found))
