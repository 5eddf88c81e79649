"""Effects of many sites as maps: drawn, put into a table, and read in a plain sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from whyrank.evaluation.estimate import estimate_text, is_significant
from whyrank.evaluation.interval import NOT_DEFINED, Interval
from whyrank.pages.page import Cell, Data
from whyrank.plots.heat_map import heat_maps, robust_end

COLUMNS = ("panel", "site", "value", "low", "high", "p (Holm)", "n", "queries")


class Spot(NamedTuple):
    """One cell of a map: where it is, what was measured there, and how sure that is."""

    name: str
    row: int
    column: int
    value: float | None
    ends: Interval | None = None
    p: float | None = None
    n: int = 0
    queries: int | None = None

    @property
    def significant(self) -> bool:
        return is_significant(self.p)

    @property
    def interval(self) -> Interval:
        return Interval.none(NOT_DEFINED) if self.ends is None else self.ends

    @property
    def text(self) -> str:
        if self.value is not None and not self.interval:
            why = "" if self.ends is None else f", {self.ends.reason}"
            return f"{self.name} ({self.value:.3g}{why})"
        return f"{self.name} ({estimate_text(self.value, self.interval, '.3g')})"


class Axis(NamedTuple):
    """What stands along one side of a map."""

    title: str
    names: Sequence[str]


def effect_map(
    panels: Mapping[str, Sequence[Spot]], rows: Axis, columns: Axis, unit: str, *, hide: bool = False
) -> tuple[str, str, Data]:
    """The figure, how to read it, and its data. `hide`: only what is significant is coloured."""
    marked = {name: {(s.row, s.column) for s in spots if s.significant} for name, spots in panels.items()}
    cells = {
        name: {(s.row, s.column): s.value if s.significant or not hide else 0.0
               for s in spots if s.value is not None}
        for name, spots in panels.items()
    }  # fmt: skip
    end = robust_end(cells, marked)
    svg = heat_maps(
        cells, rows.names, columns.names, row_title=rows.title, column_title=columns.title, value_title=unit,
        marked=marked, end=end,
    )  # fmt: skip
    beyond = sum(abs(value) > end for one in cells.values() for value in one.values())
    read = " ".join(f"{name + ' ' if name else ''}{_read(spots)}" for name, spots in panels.items())
    unsure = any(spot.value is None for spots in panels.values() for spot in spots)
    grey = " Grey: the pairs with such tokens, or of that part, may have no gap to share." if unsure else ""
    clipped = f" Colours end at {end:.3g}; {beyond} of the values lie beyond." if beyond else ""
    return svg, f"{read} A dot: significant after Holm's correction.{grey}{clipped}", (COLUMNS, _rows(panels))


def _read(spots: Sequence[Spot]) -> str:
    """`(60 pairs, 30 queries): largest 3.9 (0.31 [0.22, 0.41]); 7 of 72 significant.`"""
    known = [spot for spot in spots if spot.value is not None]
    if not known:
        return "(nothing measured)."
    top = max(known, key=lambda spot: abs(spot.value or 0.0))
    return (
        f"({counted(known)}): largest {top.text}; {sum(s.significant for s in known)} of {len(known)} significant."
    )


def counted(spots: Sequence[Spot]) -> str:
    """On how much at the most: not every pair has every category of tokens."""
    queries = max((spot.queries or 0 for spot in spots), default=0)
    pairs = f"{max((spot.n for spot in spots), default=0)} pairs"
    return f"{pairs}, {queries} queries" if queries else pairs


def _rows(panels: Mapping[str, Sequence[Spot]]) -> list[list[Cell]]:
    return [
        [name, s.name, s.value, *_ends(s), s.p, s.n, s.queries] for name, spots in panels.items() for s in spots
    ]


def _ends(spot: Spot) -> tuple[float | None, float | None]:
    return (spot.interval.low, spot.interval.high) if spot.interval else (None, None)


def head_axes(panels: Mapping[str, Sequence[Spot]]) -> tuple[Axis, Axis]:
    """Layers down, heads across."""
    every = [spot for spots in panels.values() for spot in spots]
    layers, heads = 1 + max(spot.row for spot in every), 1 + max(spot.column for spot in every)
    return Axis("layer", [str(i) for i in range(layers)]), Axis("head", [str(i) for i in range(heads)])
