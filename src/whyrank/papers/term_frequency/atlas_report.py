"""The page that compares rankers: which heads carry term frequency in each, at which relative depth, how alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from whyrank.circuits.report import with_interval
from whyrank.core.atomic import write_json, write_text
from whyrank.evaluation.estimate import is_significant, row_text
from whyrank.pages.page import Cell, Figure, Report
from whyrank.plots.lines import Point, line_plots


def write_atlas(
    found: dict[str, Any], pages: Mapping[str, Path], out: Path, manifest: dict[str, Any]
) -> list[Path]:
    """atlas.json, the figure, and report.html with a link to each ranker's page."""
    write_json(out / "atlas.json", found)
    paths = [out / "atlas.json"]
    report = Report("Who carries term frequency, and where?", _lead(found["rankers"]))
    report.heading("Rankers")
    items = "".join(f'<li><a href="{escape(str(path))}">{escape(name)}</a></li>' for name, path in pages.items())
    report.html(f"<ul>{items}</ul>")
    _carrying(report, found["rankers"])
    known = [page for page in found["rankers"] if page["profile"]]
    report.heading("Over depth")
    if known:
        figure = _profiles(known)
        write_text(out / "depth.svg", figure[0])
        paths.append(out / "depth.svg")
        report.figure(*figure, name="depth")
    else:
        report.paragraph("No ranker has a significant head.")
    _findings(report, found["rankers"])
    if found["alike"]:
        report.heading("How alike")
        _alike(report, found["alike"])
    return [*paths, report.write(out / "report.html", manifest)]


def _lead(rankers: Sequence[dict[str, Any]]) -> str:
    count = len(rankers)
    return f"{count} ranker{'s' if count != 1 else ''}, the same questions; an appended term, all heads of each."


def _carrying(report: Report, rankers: Sequence[dict[str, Any]]) -> None:
    rows: list[list[Cell]] = [
        [page["ranker"], page["layers"], page["pairs"], page["significant"],
         row_text(page["depth"], "value", ".2f"),
         "; ".join(_head(one) for one in page["carrying"])]
        for page in rankers
    ]  # fmt: skip
    columns = ["ranker", "layers", "pairs", "significant heads", "mean depth", "largest shares of the gap"]
    report.table(
        columns,
        rows,
        "Depth: 0 is the first layer, 1 the last; the mean of significant heads, weighted by |share|. A star: "
        "significant after Holm's correction over the ranker's heads. A ring: another query's word in the term's "
        "place may do as much, so that the head need not be about the term.",
    )


def _head(one: dict[str, Any]) -> str:
    star = "*" if is_significant(one["p_holm"]) else ""
    ring = "°" if one["beyond_null"] is False else ""
    return f"{one['head']}{star}{ring} {with_interval(one, 'share')}"


def _profiles(rankers: Sequence[dict[str, Any]]) -> Figure:
    steps = len(rankers[0]["profile"])
    places = [(i + 0.5) / steps for i in range(steps)]
    curves = {
        page["ranker"]: [
            Point(x, part["value"], part["low"], part["high"])
            for x, part in zip(places, page["profile"], strict=True)
        ]
        for page in rankers
    }
    svg = line_plots({"": curves}, "relative depth", "part of the significant |shares|")
    data: list[list[Cell]] = [
        [page["ranker"], x, part["value"], part["low"], part["high"], page["significant"], page["pairs"]]
        for page in rankers for x, part in zip(places, page["profile"], strict=True)
    ]  # fmt: skip
    caption = (
        "Where along the depth significant heads carry an appended term; bands: 95% intervals over queries. "
        + " ".join(_peak(page, places) for page in rankers)
    )
    return svg, caption, (["ranker", "depth", "part", "low", "high", "significant heads", "pairs"], data)


def _peak(page: dict[str, Any], places: Sequence[float]) -> str:
    part, x = max(zip(page["profile"], places, strict=True), key=lambda both: both[0]["value"])
    shown = row_text(part, "value", ".2f")
    return f"{page['ranker']} ({page['significant']} heads, {page['pairs']} pairs): most, {shown}, around {x:.2f}."


def _findings(report: Report, rankers: Sequence[dict[str, Any]]) -> None:
    """The paper's statements, ranker by ranker: the verdicts, and on a click what they rest on."""
    known = {page["ranker"]: {one["what"]: one for one in page["findings"]} for page in rankers}
    papers = {what: one["paper"] for found in known.values() for what, one in found.items()}
    if not papers:
        return
    report.heading("The paper's findings, ranker by ranker")
    about = "–: the data do not tell, or there is nothing to compare. Each ranker's page says how it was judged."
    tables = (("verdict", about, None), ("ours", "", "What was measured in each"))
    for key, caption, folded in tables:
        rows: list[list[Cell]] = [
            [what, paper, *(found[what][key] if what in found else "" for found in known.values())]
            for what, paper in papers.items()
        ]
        report.table(["finding", "the paper", *known], rows, caption, folded=folded)


def _alike(report: Report, alike: Sequence[dict[str, Any]]) -> None:
    rows: list[list[Cell]] = [
        [one["of"], one["with"], row_text(one, "profile", ".2f", "profile_interval"),
         one["map"]]
        for one in alike
    ]  # fmt: skip
    report.table(
        ["ranker", "and", "r of profiles over depth", "r of maps"],
        rows,
        "Maps are compared only where layers and heads are the same in number; heads of two models have no reason "
        "to bear the same numbers.",
    )
