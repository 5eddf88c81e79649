"""Where a signal stands in each layer, and where it goes, as bands between columns (a Sankey diagram)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from whyrank.reports.style import INK, QUIET, SERIES, as_svg, drawing

#: Space between the stations of a column, and the width of a station.
GAP, WIDTH = 0.12, 0.16
#: Links thinner than this part of the widest are not drawn.
THINNEST = 0.02


def flow_figure(rows: Sequence[dict[str, Any]], links: Sequence[dict[str, Any]]) -> str:
    """A column a layer; a station's height is the share of the gap that its tokens carry, a band's width what goes
    on from there. Shares below 0 have no height."""
    layers = sorted({row["layer"] for row in rows})
    names = list(dict.fromkeys(row["category"] for row in rows))
    colours = {name: SERIES[i % len(SERIES)] for i, name in enumerate(names)}
    heights = {(row["layer"], row["category"]): max(0.0, _share(row)) for row in rows}
    bottoms = _bottoms(layers, names, heights)
    with drawing(max(5.0, 1.1 * len(layers) + 1.6), 3.8) as figure:
        axes = figure.subplots()
        widest = max((link["width"] for link in links), default=0.0)
        for link in links:
            if link["layer"] + 1 in layers and link["width"] > THINNEST * widest:
                _band(axes, link, bottoms, heights, colours[link["from"]])
        for (layer, name), height in heights.items():
            axes.bar(layer, height, WIDTH, bottom=bottoms[layer, name], color=colours[name], linewidth=0, zorder=3)
        for name in names:
            axes.plot([], [], "s", color=colours[name], label=name)
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
        axes.set_xticks(layers, [str(layer) for layer in layers])
        axes.set_xlabel("layer")
        axes.set_yticks([])
        axes.set_ylabel("share of the gap (height)", color=INK)
        for side in ("top", "right", "left"):
            axes.spines[side].set_visible(False)
        axes.spines["bottom"].set_color(QUIET)
        return as_svg(figure)


def _bottoms(
    layers: Sequence[int], names: Sequence[str], heights: dict[tuple[int, str], float]
) -> dict[tuple[int, str], float]:
    """Stations of one category begin at one height in every layer, so that the eye can follow them."""
    found: dict[tuple[int, str], float] = {}
    bottom = 0.0
    for name in names:
        tallest = max((heights.get((layer, name), 0.0) for layer in layers), default=0.0)
        found |= {(layer, name): bottom for layer in layers}
        bottom += tallest + GAP
    return found


def _band(axes: Any, link: dict[str, Any], bottoms: Any, heights: Any, colour: str) -> None:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    start, end = link["layer"] + WIDTH / 2, link["layer"] + 1 - WIDTH / 2
    lower, upper = bottoms[link["layer"], link["from"]], bottoms[link["layer"] + 1, link["to"]]
    width = min(link["width"], max(heights.get((link["layer"], link["from"]), 0.0), 0.02))
    middle = (start + end) / 2
    corners = [
        (start, lower), (middle, lower), (middle, upper), (end, upper), (end, upper + width),
        (middle, upper + width), (middle, lower + width), (start, lower + width), (start, lower),
    ]  # fmt: skip
    codes = [Path.MOVETO, *[Path.CURVE4] * 3, Path.LINETO, *[Path.CURVE4] * 3, Path.CLOSEPOLY]
    axes.add_patch(PathPatch(Path(corners, codes), facecolor=colour, alpha=0.35, linewidth=0))


def _share(row: dict[str, Any]) -> float:
    value = row.get("stands", {}).get("share")
    return 0.0 if value is None else float(value)
