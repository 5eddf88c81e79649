"""The information flow of the term-frequency study: its figure, what it says, and its data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from whyrank.evaluation.estimate import row_text
from whyrank.pages.page import Cell, Figures
from whyrank.plots.flow import MOST, Flow, flow_figure, share

MEASURED = ("stands", "moves", "lands")
COLUMNS = ("kind", "layer", "from", "to", "share", "low", "high", "n")


def flow_figures(told: dict[str, Any]) -> Figures:
    if not told["flow"]:
        return {}
    flow = Flow(told["flow"], told["links"], told["layers"])
    caption = (
        "Append: where the signal of the term stands in each layer (height: share of the gap) and where heads "
        "take it (bands: what they pick up from a category of tokens, shared out by where attention writes). "
        f"Pale: what a category may have kept, the smaller of what stands here and there. Read-out: "
        f"{told['reads']}. {_n(flow.rows)}. {_read(flow)}{_unsaid(flow)}"
    )
    return {"flow": (flow_figure(flow), caption, (COLUMNS, [*_rows(flow.rows), *_bands(flow)]))}


def _read(flow: Flow) -> str:
    """Where most stands at the end, and the widest link."""
    final = [row for row in flow.rows if row["layer"] == flow.layers and share(row, "stands") is not None]
    said = ""
    if final:
        top = max(final, key=lambda row: row["stands"]["share"])
        said = f"At the end most stands in {top['category']} ({_with(top['stands'])}). "
    links = [band for band in flow.bands if band.kind == "link"]
    if not links:
        return f"{said}Heads carry nothing on."
    widest = max(links, key=lambda band: band.width)
    return (
        f"{said}The widest band: {widest.source} to {widest.target} in layer {widest.layer} "
        f"({widest.width:.2f} of the gap)."
    )


def _unsaid(flow: Flow) -> str:
    """What the figure cannot show."""
    below = sum((share(row, "stands") or 0.0) < 0 for row in flow.rows)
    said = f" {below} stations carry less than nothing and have no height." if below else ""
    return said + (f" {flow.clipped} heights or widths above {MOST} are drawn as {MOST}." if flow.clipped else "")


def _n(rows: Sequence[Mapping[str, Any]]) -> str:
    """What is picked up costs most, and is measured on fewer pairs."""
    most = {name: max((row[name]["n"] for row in rows if row.get(name)), default=0) for name in MEASURED}
    return f"Stands and lands: {max(most['stands'], most['lands'])} pairs; picked up: {most['moves']}"


def _rows(rows: Sequence[Mapping[str, Any]]) -> Iterator[list[Cell]]:
    for row in rows:
        for name in MEASURED:
            if one := row.get(name):
                place = [row["category"], None] if name != "lands" else [None, row["category"]]
                yield [name, row["layer"], *place, one["share"], one["low"], one["high"], one["n"]]


def _bands(flow: Flow) -> Iterator[list[Cell]]:
    for band in flow.bands:
        yield [band.kind, band.layer, band.source, band.target, band.width, None, None, None]


def _with(one: Mapping[str, Any]) -> str:
    return row_text(one, "share", ".2f")
