"""The figures of a patching run."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from whyrank.interventions.effect_maps import COLUMNS, Axis, Spot, effect_map, head_axes
from whyrank.interventions.results import Effects
from whyrank.interventions.statistics import SiteSummary
from whyrank.interventions.summary import MapCorrelation, Point
from whyrank.pages.page import Cell, Figure, Figures
from whyrank.plots.bars import draw_bars, interval_bars
from whyrank.plots.scatter import scatter
from whyrank.plots.style import new_axes
from whyrank.text.categories import CATEGORIES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Sites in the bar chart.
LEADING = 15
#: Rows of a map of heads by category.
MOST_ROWS = 24
#: The most values of a split that has a figure of its own.
MOST_PANELS = 4
#: A map has more sites than this.
FEW = 3


def make_figures(effects: Effects) -> Figures:
    """The maps that the sites allow, the leading sites, and the comparisons."""
    found: Figures = {}
    sites, layered = effects.sites, [site for site in effects.sites if site.layer is not None]
    heads = [site for site in sites if site.is_head and site.category is None]
    blocks = [site for site in layered if site.head is None]
    blocks = [site for site in blocks if site.category is not None] or blocks
    cut_heads = [site for site in sites if site.is_head and site.category is not None]
    if len(heads) > FEW:
        panels = _by_part(heads)
        found["heads"] = _head_map(effects, panels, "every head")
        if len(panels) == 1:
            found.update(_split_maps(effects))
    if len(blocks) > FEW:
        found["blocks"] = _block_map(effects, blocks)
    if cut_heads:
        found["categories"] = _category_map(effects, cut_heads)
    if _known(effects):
        found["leading"] = _leading(effects)
    if effects.agreement:
        found["agreement"] = _compared(
            effects.agreement.correlation, effects.agreement.points, ("attribution", "exact"),
            "Attribution against exact patching",
        )  # fmt: skip
    if effects.compared:
        found["compared"] = _compared(
            effects.compared.correlation, effects.compared.points, ("here", "there"),
            f"This map against that of {effects.compared.run}",
        )  # fmt: skip
    return found


def plot_leading(effects: Effects, axes: Axes | None = None) -> Axes:
    """The sites with the largest effects as bars with their intervals, on given axes."""
    some = _known(effects)[:LEADING]
    axes = axes if axes is not None else new_axes(7.2, 0.7 + 0.26 * len(some))
    return draw_bars(axes, *_bars(effects, some), effects.measure.title)


def about(effects: Effects) -> str:
    """Which ranker, and what was done to it."""
    how = {
        "activation": "activation patching", "path": f"path patching to {effects.receiver}",
        "attribution": "attribution patching", "ablation": f"{effects.ablate} ablation",
    }[effects.method]  # fmt: skip
    return f"{effects.ranker}, {how} ({effects.direction})"


def _known(effects: Effects) -> list[SiteSummary]:
    """The sites that have a number, the largest first."""
    return [site for site in effects.leading if effects.measure.of(site).value is not None]


def _spot(effects: Effects, site: SiteSummary, row: int, column: int) -> Spot:
    value = effects.measure.of(site)
    return Spot(site.site, row, column, value.value, value.interval, site.p_holm, site.n, site.queries)


def _map(effects: Effects, panels: Mapping[str, Sequence[Spot]], rows: Axis, columns: Axis, what: str) -> Figure:
    title, hide = effects.measure.title, effects.hide_insignificant
    svg, read, data = effect_map(panels, rows, columns, title, hide=hide)
    return svg, f"{about(effects)}, {what}: {title} {read}", data


def _by_part(heads: Iterable[SiteSummary]) -> dict[str, list[SiteSummary]]:
    """Heads by what of them is patched; unnamed where it is their output."""
    found: dict[str, list[SiteSummary]] = {}
    for site in heads:
        found.setdefault(site.part, []).append(site)
    return {"": found["z"]} if list(found) == ["z"] else found


def _head_map(effects: Effects, panels: Mapping[str, Sequence[SiteSummary]], what: str) -> Figure:
    """Layers down, heads across."""
    spots = {
        name: [_spot(effects, site, int(site.layer or 0), int(site.head or 0)) for site in sites]
        for name, sites in panels.items()
    }
    return _map(effects, spots, *head_axes(spots), what)


def _split_maps(effects: Effects) -> Figures:
    found: Figures = {}
    for name, groups in effects.splits.items():
        if len(groups) <= MOST_PANELS:
            title = name.replace("_", " ")
            panels = {
                f"{title}: {group}": [site for site in sites if site.is_head and site.category is None]
                for group, sites in groups.items()
            }
            found[f"heads-by-{name.replace('_', '-')}"] = _head_map(effects, panels, f"by {title}")
    return found


def _block_map(effects: Effects, blocks: Sequence[SiteSummary]) -> Figure:
    """Panels resid, attn, mlp; columns the categories, or one for all positions."""
    columns = _categories(blocks) or ["all"]
    panels: dict[str, list[Spot]] = {}
    for site in blocks:
        column = columns.index(site.category) if site.category in columns else 0
        panels.setdefault(site.part, []).append(_spot(effects, site, int(site.layer or 0), column))
    layers = 1 + max(site.layer or 0 for site in blocks)
    rows = Axis("layer", [str(layer) for layer in range(layers)])
    return _map(effects, panels, rows, Axis("tokens", columns), "layer by layer")


def _category_map(effects: Effects, sites: Sequence[SiteSummary]) -> Figure:
    """Rows the heads with the largest effects, columns the categories."""
    order = sorted(sites, key=lambda site: -effects.measure.size(site))
    chosen = set(list(dict.fromkeys(site.whole for site in order))[:MOST_ROWS])
    rows, columns = list(dict.fromkeys(site.whole for site in sites if site.whole in chosen)), _categories(sites)
    spots = [
        _spot(effects, site, rows.index(site.whole), columns.index(str(site.category)))
        for site in sites
        if site.whole in chosen
    ]
    return _map(effects, {"": spots}, Axis("", rows), Axis("tokens", columns), "heads by category of tokens")


def _categories(sites: Sequence[SiteSummary]) -> list[str]:
    present = {site.category for site in sites}
    return [name for name in CATEGORIES if name in present]


def _leading(effects: Effects) -> Figure:
    some = _known(effects)[:LEADING]
    caption = f"{about(effects)}: the sites with the largest effects, with 95% intervals over queries."
    data: list[list[Cell]] = []
    for site in some:
        value = effects.measure.of(site)
        data.append(["", site.site, value.value, value.low, value.high, site.p_holm, site.n, site.queries])
    return interval_bars(*_bars(effects, some), effects.measure.title), caption, (COLUMNS, data)


def _bars(
    effects: Effects, sites: Sequence[SiteSummary]
) -> tuple[list[str], list[float], list[tuple[float, float]]]:
    values = [effects.measure.of(site) for site in sites]
    ends = [(one.interval.low, one.interval.high) for one in values]
    return [site.site for site in sites], [_number(one.value) for one in values], ends


def _compared(correlation: MapCorrelation, points: Sequence[Point], names: tuple[str, str], what: str) -> Figure:
    both = [(point.site, _number(point.one), _number(point.other)) for point in points]
    return scatter(both, *names), f"{what}: Pearson {correlation.text()}.", (["site", *names], both)


def _number(value: float | None) -> float:
    return math.nan if value is None else value
