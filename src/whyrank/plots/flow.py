"""Where a signal stands in each layer, and where it goes, as bands between columns (a Sankey diagram)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from whyrank.plots.style import INK, QUIET, SERIES, as_svg, drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Space between the stations of a column, and the width of a station.
GAP, WIDTH = 0.12, 0.16
#: Bands thinner than this are not drawn; what is more than `MOST` of the gap is drawn as that, and said.
THINNEST, MOST = 0.004, 1.5
SCORE = "score"


class Station(NamedTuple):
    """How much of the signal stands at a place in a column (a layer); None where it was not measured."""

    column: int
    name: str
    height: float | None


class Link(NamedTuple):
    """How much goes from a place in a column to one in the next."""

    column: int
    source: str
    target: str
    width: float


class Band(NamedTuple):
    """From a station to one in the next column: what heads carry over (`link`), what may have stayed (`kept`), or
    what the score reads (`read`)."""

    kind: str
    layer: int
    source: str
    target: str
    width: float


@dataclass(frozen=True)
class Flow:
    """Stations and links. The last column, after all layers, is what is read out; it goes to the score."""

    stations: Sequence[Station]
    links: Sequence[Link]
    layers: int

    @cached_property
    def stands(self) -> dict[tuple[int, str], float]:
        """Heights; shares below 0 have none."""
        return {(one.column, one.name): max(0.0, one.height or 0.0) for one in self.stations}

    @cached_property
    def names(self) -> list[str]:
        return list(dict.fromkeys(one.name for one in self.stations))

    @cached_property
    def bands(self) -> list[Band]:
        """In the order in which they are laid."""
        kept = [
            Band("kept", layer, name, name, min(self.stands.get((layer, name), 0.0), self.stands[layer + 1, name]))
            for layer in range(self.layers) for name in self.names if (layer + 1, name) in self.stands
        ]  # fmt: skip
        moved = [Band("link", *one) for one in self.links if (one.column + 1, one.target) in self.stands]
        at_the_end = {name: self.stands.get((self.layers, name), 0.0) for name in self.names}
        read = [Band("read", self.layers, name, SCORE, height) for name, height in at_the_end.items()]
        return [band for band in (*kept, *moved, *read) if band.width > 0]

    @property
    def clipped(self) -> int:
        """Stations and bands that are drawn smaller than they are."""
        return sum(height > MOST for height in (*self.stands.values(), *(band.width for band in self.bands)))


def flow_figure(flow: Flow) -> str:
    """A column for each layer, one for what is read out, and the score. A station's height is the share of the gap
    that its tokens carry; bands from one station are laid on each other, and those into one, too; pale ones, of
    what stays, lie behind them all."""
    colours = {name: SERIES[i % len(SERIES)] for i, name in enumerate(flow.names)}
    bottoms = _bottoms(flow)
    with drawing(max(5.0, 1.1 * (flow.layers + 2) + 1.6), 4.4) as figure:
        axes = figure.subplots()
        _bands(axes, flow, bottoms, colours)
        for (layer, name), height in flow.stands.items():
            _station(axes, layer, bottoms[name], height, colours[name])
        read = sum(min(MOST, band.width) for band in flow.bands if band.kind == "read")
        _station(axes, flow.layers + 1, 0.0, read, INK)
        for name in flow.names:
            axes.plot([], [], "s", color=colours[name], label=name)
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
        axes.set_xticks(range(flow.layers + 2), [*map(str, range(flow.layers)), "read out", SCORE])
        _dress(axes)
        return as_svg(figure)


def _station(axes: Axes, column: float, bottom: float, height: float, colour: str) -> None:
    axes.bar(column, min(MOST, height), WIDTH, bottom=bottom, color=colour, linewidth=0, zorder=4)


def _bottoms(flow: Flow) -> dict[str, float]:
    """Stations of one category begin at one height in every layer, with room for all that leaves or comes."""
    found: dict[str, float] = {}
    bottom = 0.0
    for name in flow.names:
        found[name] = bottom
        heights = [min(MOST, height) for (_, one), height in flow.stands.items() if one == name]
        bottom += max([*heights, *_piles(flow, name)], default=0.0) + GAP
    return found


def _piles(flow: Flow, name: str) -> list[float]:
    """How high links pile up at each station of a category, leaving and coming."""
    piles: dict[tuple[str, int], float] = {}
    for band in flow.bands:
        if band.kind == "link":
            for side, end in (("out", band.source), ("in", band.target)):
                if end == name:
                    piles[side, band.layer] = piles.get((side, band.layer), 0.0) + min(MOST, band.width)
    return list(piles.values())


def _bands(axes: Axes, flow: Flow, bottoms: dict[str, float], colours: dict[str, str]) -> None:
    piled: dict[tuple[str, str, int, str], float] = {}
    for band in flow.bands:
        width = min(MOST, band.width)
        start, end = ("out", band.layer, band.source), ("in", band.layer, band.target)
        lower = bottoms[band.source] + piled.get((band.kind, *start), 0.0)
        upper = bottoms.get(band.target, 0.0) + piled.get((band.kind, *end), 0.0)
        for key in (start, end):
            piled[(band.kind, *key)] = piled.get((band.kind, *key), 0.0) + width
        if width > THINNEST:
            _band(axes, band.layer, lower, upper, width, colours[band.source], pale=band.kind == "kept")


def _band(axes: Axes, layer: int, lower: float, upper: float, width: float, colour: str, *, pale: bool) -> None:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    start, end = layer + WIDTH / 2, layer + 1 - WIDTH / 2
    middle = (start + end) / 2
    corners = [
        (start, lower), (middle, lower), (middle, upper), (end, upper), (end, upper + width),
        (middle, upper + width), (middle, lower + width), (start, lower + width), (start, lower),
    ]  # fmt: skip
    codes = [Path.MOVETO, *[Path.CURVE4] * 3, Path.LINETO, *[Path.CURVE4] * 3, Path.CLOSEPOLY]
    alpha, order = (0.13, 1) if pale else (0.45, 2)
    axes.add_patch(PathPatch(Path(corners, codes), facecolor=colour, alpha=alpha, linewidth=0, zorder=order))


def _dress(axes: Axes) -> None:
    axes.set_xlabel("layer")
    axes.set_yticks([])
    axes.set_ylabel("share of the gap (height)", color=INK)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(QUIET)
