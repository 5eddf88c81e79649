"""The page that compares rankers: which heads carry term frequency in each, at which relative depth, how alike."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from whyrank.pages.numbers import counted
from whyrank.pages.page import Cell, Figure, Report
from whyrank.papers.term_frequency.atlas import Atlas, CarryingHead, Likeness, RankerSummary
from whyrank.plots.lines import Point, line_plots
from whyrank.plots.style import SERIES, bare, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DEPTH, PART = "relative depth", "part of the significant |shares|"


def atlas_page(atlas: Atlas) -> Report:
    """The page, with a link to each ranker's own."""
    count = counted(len(atlas.rankers), "ranker")
    lead = f"{count}, the same questions; an appended term, all heads of each."
    report = Report("Who carries term frequency, and where?", lead, atlas.verdict())
    report.heading("Over depth")
    if atlas.depth_figure:
        svg, caption, data = atlas.depth_figure
        report.figure(svg, caption, data, "depth")
    else:
        report.paragraph("No ranker has a significant head.")
    report.heading("Rankers")
    links = "".join(
        f'<li><a href="{escape(one.folder)}/report.html">{escape(one.ranker)}</a></li>' for one in atlas.rankers
    )
    report.html(f"<ul>{links}</ul>")
    _carrying(report, atlas.rankers)
    _findings(report, atlas.rankers)
    if atlas.alike:
        report.heading("How alike")
        _alike(report, atlas.alike)
    return report


def _carrying(report: Report, rankers: Sequence[RankerSummary]) -> None:
    rows: list[list[Cell]] = [
        [one.ranker, one.layers, one.pairs, one.significant, one.depth.text(".2f"),
         "; ".join(_head(head) for head in one.carrying)]
        for one in rankers
    ]  # fmt: skip
    columns = ["ranker", "layers", "pairs", "significant heads", "mean depth", "largest shares of the gap"]
    report.table(
        columns,
        rows,
        "Depth: 0 is the first layer, 1 the last; the mean of significant heads, weighted by |share|. A star: "
        "significant after Holm's correction over the ranker's heads. A ring: another query's word in the term's "
        "place may do as much, so that the head need not be about the term.",
    )


def _head(one: CarryingHead) -> str:
    star, ring = "*" * one.is_significant, "°" * (one.beyond_null is False)
    return f"{one.head}{star}{ring} {one.share.text()}"


def _curve(one: RankerSummary) -> list[Point]:
    """The profile over depth, each part at its middle."""
    steps = len(one.profile)
    return [Point((i + 0.5) / steps, p.value or 0.0, p.low, p.high) for i, p in enumerate(one.profile)]


def plot_profiles(rankers: Sequence[RankerSummary], axes: Axes | None) -> Axes:
    """The profiles over depth, on given axes or new ones."""
    axes = bare(axes if axes is not None else new_axes(5.6, 3.4))
    for i, one in enumerate(rankers):
        points = _curve(one)
        axes.plot([p.x for p in points], [p.y for p in points], marker="o", color=SERIES[i % len(SERIES)],
                  label=one.ranker)  # fmt: skip
    axes.set_xlabel(DEPTH)
    axes.set_ylabel(PART)
    axes.legend()
    return axes


def depth_figure(rankers: Sequence[RankerSummary]) -> Figure | None:
    """The profiles of the rankers that have a significant head."""
    known = [one for one in rankers if one.profile]
    if not known:
        return None
    curves = {one.ranker: _curve(one) for one in known}
    svg = line_plots({"": curves}, DEPTH, PART)
    data: list[list[Cell]] = [
        [one.ranker, *point, one.significant, one.pairs] for one in known for point in curves[one.ranker]
    ]
    caption = (
        "Where along the depth significant heads carry an appended term; bands: 95% intervals over queries. "
        + " ".join(_peak(one) for one in known)
    )
    return svg, caption, (["ranker", "depth", "part", "low", "high", "significant heads", "pairs"], data)


def _peak(one: RankerSummary) -> str:
    part, point = max(zip(one.profile, _curve(one), strict=True), key=lambda both: both[1].y)
    sizes = f"{counted(one.significant, 'head')}, {counted(one.pairs, 'pair')}"
    return f"{one.ranker} ({sizes}): most, {part:.2f}, around {point.x:.2f}."


def _findings(report: Report, rankers: Sequence[RankerSummary]) -> None:
    """The paper's statements, ranker by ranker: the verdicts, and on a click what they rest on."""
    known = {one.ranker: {row.what: row for row in one.findings} for one in rankers}
    papers = {what: row.paper for found in known.values() for what, row in found.items()}
    if not papers:
        return
    report.heading("The paper's findings, ranker by ranker")
    verdicts: list[list[Cell]] = []
    ours: list[list[Cell]] = []
    for what, stated in papers.items():
        rows = [found.get(what) for found in known.values()]
        verdicts.append([what, stated, *(row.verdict if row else "" for row in rows)])
        ours.append([what, stated, *(row.ours if row else "" for row in rows)])
    columns = ["finding", "the paper", *known]
    about = "–: the data cannot say, or there is nothing to compare. Each ranker's page says how it was judged."
    report.table(columns, verdicts, about)
    report.table(columns, ours, folded="What was measured in each")


def _alike(report: Report, alike: Sequence[Likeness]) -> None:
    rows: list[list[Cell]] = [[one.one, one.other, one.profile.text(".2f"), one.map] for one in alike]
    report.table(
        ["ranker", "and", "r of profiles over depth", "r of maps"],
        rows,
        "Maps are compared only where layers and heads are the same in number; heads of two models have no reason "
        "to bear the same numbers.",
    )
