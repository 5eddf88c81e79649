"""The report of how a ranker's singular vectors go with IDF."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from whyrank.edits.report import write_result
from whyrank.evaluation.estimate import row_text
from whyrank.pages.page import Cell, Figures, Report
from whyrank.plots.heat_map import interval_bars
from whyrank.plots.style import INK, SERIES, as_svg, bare, drawing

RESULT = "idf.json"
#: Dots a figure has at most; steps of IDF whose mean is drawn, and words that one needs for that.
MOST_DOTS, GROUPS, ENOUGH = 6000, 20, 10
FORMULA_TOLD = {
    "bm25": "ln((N - df + 0.5) / (df + 0.5) + 1)",
    "plain": "ln(N / df)",
    "given": "as given",
}

#: A word, its IDF and its U_0.
Word = tuple[str, float, float]


def write_idf(told: dict[str, Any], words: Sequence[Word], folder: Path, manifest: dict[str, Any]) -> list[Path]:
    """idf.json, the figures and report.html; `words` are the whole words with an IDF."""
    figures = make_figures(told, words)
    paths = write_result(told, folder, RESULT, figures)
    report = Report(
        f"Where is IDF? The embeddings of {told['ranker']}",
        f"{told['rows']} x {told['width']} input embeddings; {len(words)} whole words have an IDF.",
    )
    report.heading("U0 and IDF")
    report.figure(*figures["scatter"])
    report.heading("The first singular vectors")
    report.figure(*figures["vectors"])
    rows: list[list[Cell]] = [
        [f"U{row['vector']}", row["formula"], row["singular_value"], _r(row), row["n"]]
        for row in told["correlations"]
    ]
    formulas = "; ".join(
        f"{f}: {FORMULA_TOLD[f]}" for f in dict.fromkeys(row["formula"] for row in told["correlations"])
    )
    caption = (
        f"Pearson's r over whole words, with Fisher's 95% interval; signs fixed so that r is negative. {formulas}."
    )
    report.table(["vector", "formula", "singular value", "r", "words"], rows, caption)
    return [*paths, report.write(folder / "report.html", manifest)]


def make_figures(told: Mapping[str, Any], words: Sequence[Word]) -> Figures:
    first = told["correlations"][0]
    caption = f"U0 against IDF ({FORMULA_TOLD[first['formula']]}), {len(words)} whole words: r = {_r(first)}. "
    caption += "The line: means in steps of IDF."
    found: Figures = {"scatter": (scatter(words), caption, (["word", "IDF", "U0"], words))}
    mine = [row for row in told["correlations"] if row["formula"] == first["formula"] and row["r"] is not None]
    ends = [(row["low"], row["high"]) for row in mine]
    data = (
        ["vector", "r", "low", "high", "n"],
        [[r["vector"], r["r"], r["low"], r["high"], r["n"]] for r in mine],
    )
    bars = interval_bars([f"U{row['vector']}" for row in mine], [row["r"] for row in mine], ends, "r with IDF")
    found["vectors"] = (bars, "Correlation of each of the first singular vectors with IDF.", data)
    return found


def scatter(words: Sequence[Word]) -> str:
    """A dot a word (every so many-th of many), some named, and the mean of U_0 in steps of IDF."""
    order = sorted(words, key=lambda word: word[1])
    step = -(-len(order) // MOST_DOTS)
    with drawing(7.2, 4.6) as figure:
        figure.set_dpi(200)
        axes = bare(figure.subplots())
        dots = order[::step]
        axes.plot(
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
        return as_svg(figure)


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


def _r(row: Mapping[str, Any]) -> str:
    return row_text(row, "r", "+.4f")
