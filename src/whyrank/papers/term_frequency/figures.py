"""Maps of what sites do: heads by set of pairs, against their controls, split by what differs; blocks; the leading
heads by category of tokens; and the information flow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from whyrank.evaluation.estimate import Estimate
from whyrank.interventions.effect_maps import Axis, Spot, effect_map, head_axes
from whyrank.pages.numbers import counted
from whyrank.pages.page import Cell, Figures
from whyrank.papers.term_frequency.parts import FlowRow, PairedDifference, PairSet, SiteEffect
from whyrank.papers.term_frequency.sets import CONTROLS
from whyrank.plots.flow import MOST, Flow, Link, Station, flow_figure
from whyrank.text.categories import CATEGORIES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from whyrank.papers.term_frequency.results import TermFrequencyStudy

#: What append is split by, in words, and before the name of each part.
SPLITS = {
    "rank": ("rank band", "ranks "),
    "term_present": ("whether the term was in the document before", "term there before: "),
}
SHARE, SCORE = "share of the gap", "mean effect on the score"
FLOW_COLUMNS = ("kind", "layer", "from", "to", "share", "low", "high", "n")


class Map(NamedTuple):
    """The name of a figure, its panels, caption and unit."""

    name: str
    panels: Mapping[str, Sequence[Spot]]
    caption: str
    unit: str = SHARE


def plot_heads(study: TermFrequencyStudy, axes: Axes | None) -> Axes:
    """All heads on append, on given axes or new ones."""
    from whyrank.plots.heat_map import draw_heat_map
    from whyrank.plots.style import new_axes

    heads, about = study.append.heads, study.about
    axes = axes if axes is not None else new_axes(1.6 + 0.34 * about.heads_per_layer, 1.2 + 0.3 * about.layers)
    cells = {(one.layer or 0, one.head or 0): one.share.value for one in heads if one.share.value is not None}
    marked = {(one.layer or 0, one.head or 0) for one in heads if one.is_significant}
    axes.set_title(about.ranker, loc="left")
    rows, columns = (list(map(str, range(count))) for count in (about.layers, about.heads_per_layer))
    return draw_heat_map(
        axes, cells, rows, columns, marked=marked, row_title="layer", column_title="head", value_title=SHARE
    )


def head_figures(study: TermFrequencyStudy) -> Figures:
    """Every map of heads."""
    figures: Figures = {}
    for one in (*_sets(study.sets), *_all_controls(study), *_splits(study.append), _position(study)):
        if any(one.panels.values()):
            hide = study.hide_insignificant
            svg, read, data = effect_map(one.panels, *head_axes(one.panels), one.unit, hide=hide)
            figures[one.name] = (svg, f"{one.caption} {read}", data)
    return figures


def _sets(sets: Mapping[str, PairSet]) -> Iterator[Map]:
    """Shares of the gap by set; raw effects where a set's gap is not surely other than 0."""
    sure = {name: one for name, one in sets.items() if name not in CONTROLS and one.has_gap}
    caption = "Share of the gap that a head makes up, patched alone at all tokens."
    falls = [name for name, one in sure.items() if one.gap.mean < 0]
    if falls:
        caption += f" The gap of {'; '.join(falls)} is negative: there, a share above 0 lowers the score."
    yield Map("heads-shares", {name: head_spots(one.heads) for name, one in sure.items()}, caption)
    unsure = [name for name in sets if not has_gap(name, sets)]
    caption = "Mean effect on the score, not a share: the interval of the mean gap of these pairs holds 0."
    raw = {name: head_spots(sets[name].heads, raw=True) for name in unsure}
    yield Map("heads-raw", raw, caption, SCORE)


def has_gap(name: str, sets: Mapping[str, PairSet]) -> bool:
    """Whether a set, or what it controls, has a gap to share."""
    base = sets.get(CONTROLS.get(name, name))
    return base is not None and base.has_gap


def _all_controls(study: TermFrequencyStudy) -> Iterator[Map]:
    for base in ("append", "prepend"):
        if base in study.sets and study.sets[base].has_gap:
            caption = (
                f"Controls on the same documents, all as shares of the mean gap of {base}: another query's word "
                "in the term's place (null), fillers for all but the words around the change (minimal context)."
            )
            yield Map(f"heads-controls-{base}", _controls(study, base), caption, f"share of {base}'s gap")


def _controls(study: TermFrequencyStudy, base: str) -> dict[str, list[Spot]]:
    """Each control on the scale of `base`, and how much less it is than `base`. A dot in the first: the effect is
    not 0; in the second: the difference is not."""
    found = {name: rows for name, rows in study.controls.items() if CONTROLS.get(name) == base and rows}
    panels: dict[str, list[Spot]] = {}
    for name, rows in found.items():
        own = {one.site: one.p_holm for one in study.sets[name].heads} if name in study.sets else {}
        panels[name] = [
            Spot(one.name, one.layer or 0, one.head or 0, one.other, None, own.get(one.site), one.difference.pairs,
                 one.difference.queries)
            for one in rows
        ]  # fmt: skip
    differences = {f"{base} less {name}": [_difference_spot(one) for one in rows] for name, rows in found.items()}
    return panels | differences


def _splits(append: PairSet) -> Iterator[Map]:
    for name, (words, prefix) in SPLITS.items():
        groups = append.splits.get(name) or {}
        panels = {f"{prefix}{group}": head_spots(sites) for group, sites in groups.items() if sites}
        caption = f"Append, split by {words}; shares of each part's own gap."
        yield Map(f"heads-by-{name.replace('_', '-')}", panels, caption)


def _position(study: TermFrequencyStudy) -> Map:
    spots = [_difference_spot(one) for one in study.append_less_prepend]
    caption = "Effect on the score of the term at the end less at the start, the same queries and documents."
    return Map("positions-heads", {"append less prepend": spots}, caption, SCORE)


def block_figures(study: TermFrequencyStudy) -> Figures:
    """Blocks by layer and category of tokens."""
    sites = study.blocks
    if not sites:
        return {}
    columns = _categories(sites)
    panels: dict[str, list[Spot]] = {}
    for one in sites:
        part = one.site.split("@")[0].split(".")[-1]
        panels.setdefault(part, []).append(_spot(one, one.site, one.layer or 0, columns.index(str(one.category))))
    rows = Axis("layer", [str(i) for i in range(1 + max(one.layer or 0 for one in sites))])
    svg, read, data = effect_map(panels, rows, Axis("tokens", columns), SHARE, hide=study.hide_insignificant)
    caption = "Append: share of the gap of residual stream, attention and MLP output at one category of tokens."
    return {"blocks": (svg, f"{caption} {read}", data)}


def category_figures(study: TermFrequencyStudy) -> Figures:
    """The leading heads by category of tokens."""
    sites = study.by_category
    if not sites:
        return {}
    names, columns = list(dict.fromkeys(one.name for one in sites)), _categories(sites)
    spots = [
        _spot(one, f"{one.name} at {one.category}", names.index(one.name), columns.index(str(one.category)))
        for one in sites
    ]
    axes = Axis("head", names), Axis("tokens", columns)
    svg, read, data = effect_map({"": spots}, *axes, SHARE, hide=study.hide_insignificant)
    caption = "Append: share of the gap of the leading heads, patched at one category of tokens"
    return {"leading-by-category": (svg, f"{caption} {read}", data)}


def head_spots(heads: Sequence[SiteEffect], *, raw: bool = False) -> list[Spot]:
    return [_spot(one, one.name, one.layer or 0, one.head or 0, raw=raw) for one in heads]


def _spot(one: SiteEffect, name: str, row: int, column: int, *, raw: bool = False) -> Spot:
    """A site's share of the gap, or its `raw` mean effect on the score. There is no share where the pairs that
    have the site may have no gap."""
    shown = one.mean_effect if raw else one.known_share
    return Spot(name, row, column, shown.value, shown.interval, one.p_holm, one.n, one.queries)


def _difference_spot(one: PairedDifference) -> Spot:
    ours, layer, head = one.difference, one.layer or 0, one.head or 0
    return Spot(one.name, layer, head, ours.value, ours.interval, one.p_holm, ours.pairs, ours.queries)


def _categories(sites: Sequence[SiteEffect]) -> list[str]:
    return [name for name in CATEGORIES if any(one.category == name for one in sites)]


def flow_figures(study: TermFrequencyStudy) -> Figures:
    """Where the signal stands in each layer, and where heads take it."""
    if not study.flow:
        return {}
    stations = [Station(row.layer, row.category, row.stands.value if row.stands else None) for row in study.flow]
    links = [Link(one.layer, one.source, one.target, one.width) for one in study.links]
    flow = Flow(stations, links, study.about.layers)
    caption = (
        "Append: where the signal of the term stands in each layer (height: share of the gap) and where heads "
        "take it (bands: what they pick up from a category of tokens, shared out by where attention writes). "
        f"Pale: what a category may have kept, the smaller of what stands here and there. Read-out: "
        f"{study.about.reads}. {_sizes(study.flow)}. {_at_the_end(study)}{_widest(flow)}{_unsaid(flow)}"
    )
    return {"flow": (flow_figure(flow), caption, (FLOW_COLUMNS, [*_rows(study.flow), *_bands(flow)]))}


def _at_the_end(study: TermFrequencyStudy) -> str:
    top = study.read_out
    return f"At the end most stands in {top[0]} ({top[1]:.2f}). " if top else ""


def _widest(flow: Flow) -> str:
    links = [band for band in flow.bands if band.kind == "link"]
    if not links:
        return "Heads carry nothing on."
    widest = max(links, key=lambda band: band.width)
    return (
        f"The widest band: {widest.source} to {widest.target} in layer {widest.layer} "
        f"({widest.width:.2f} of the gap)."
    )


def _unsaid(flow: Flow) -> str:
    """What the figure cannot show."""
    below, clipped = sum((one.height or 0.0) < 0 for one in flow.stations), flow.clipped
    said = ""
    if below:
        said += f" {counted(below, 'station')} below 0 without a height."
    if clipped:
        said += f" {counted(clipped, 'height or width', 'heights or widths')} above {MOST}, drawn as {MOST}."
    return said


def _sizes(rows: Sequence[FlowRow]) -> str:
    """What is picked up costs most, and is measured on fewer pairs."""
    most = {"stands": 0, "moves": 0, "lands": 0}
    for row in rows:
        for name, one in _measured(row):
            most[name] = max(most[name], one.pairs)
    return f"Stands and lands: {max(most['stands'], most['lands'])} pairs; picked up: {most['moves']}"


def _measured(row: FlowRow) -> Iterator[tuple[str, Estimate]]:
    for name, one in (("stands", row.stands), ("moves", row.moves), ("lands", row.lands)):
        if one is not None:
            yield name, one


def _rows(rows: Sequence[FlowRow]) -> Iterator[list[Cell]]:
    for row in rows:
        for name, one in _measured(row):
            place = [row.category, None] if name != "lands" else [None, row.category]
            yield [name, row.layer, *place, one.value, one.low, one.high, one.pairs]


def _bands(flow: Flow) -> Iterator[list[Cell]]:
    for band in flow.bands:
        yield [band.kind, band.layer, band.source, band.target, band.width, None, None, None]
